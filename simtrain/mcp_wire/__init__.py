"""Raw MCP frames, both ways, over stdio and streamable HTTP; the only importer of mcp. Imports contracts and below."""
