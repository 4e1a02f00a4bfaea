"""The YAML of a search world file, and the schema resolved from it."""
