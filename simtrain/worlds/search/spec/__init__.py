"""The YAML of a search world file, and its resolved schema."""
