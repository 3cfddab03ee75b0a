"""MCP servers for agents: `muisti mcp` (stdio) and `/mcp` of `muisti serve`."""
