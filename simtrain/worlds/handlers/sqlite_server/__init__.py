"""The tools of a SQLite server: an agent's SQL over its own database, in a sandbox apart from the world's."""
