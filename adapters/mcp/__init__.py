"""The bridge's tools for agents: an MCP server that runs inside the bridge, one a connection."""
