"""The engines behind worlds, one folder for each kind, and the tools and wordings of reference servers. Imports llm, mcp_wire and below."""
