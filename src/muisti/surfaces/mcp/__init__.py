"""The memory for agents, over the Model Context Protocol: `muisti mcp` (stdio) and `/mcp` of `muisti serve`."""
