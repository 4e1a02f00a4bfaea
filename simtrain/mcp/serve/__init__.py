"""MCP servers out of worlds and manifests, with the control plane that opens and closes their episodes."""
