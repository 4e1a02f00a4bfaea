"""The MCP wire: raw frames as dicts, both ways, over stdio and streamable HTTP, in both eras of the protocol."""
