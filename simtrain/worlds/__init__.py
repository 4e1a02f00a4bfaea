"""The engines of worlds, one folder per kind, and the tools and error texts of reference servers. Imports llm, mcp_wire and below."""
