"""The REST API, and the server that also serves the web page and `/mcp`."""
