"""The relay: a man in the middle between MCP clients and a real server, who records and, where a perturbation fires, bends."""
