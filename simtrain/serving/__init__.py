"""MCP servers out of worlds and manifests, and the tools around them: capture, relay, verification."""
