"""MCP servers for worlds and manifests, and the control plane that opens and closes their episodes."""
