"""General recovery skills of an agent that sees only observations and tools: one skill per file."""
