"""The room of domains: one kind of tool call each, translated for world models."""
