"""General recovery skills of an agent that sees observations and tools alone: one skill a file."""
