"""MCP servers out of worlds, and what is done to real ones: serve, capture, relay, verify, draft. Imports drills and below."""
