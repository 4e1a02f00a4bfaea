"""The relay: a proxy between MCP clients and a real server that records all frames and can perturb calls."""
