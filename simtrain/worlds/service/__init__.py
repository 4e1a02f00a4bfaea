"""Service worlds: a SQLite database, and tools that are SQL over it."""
