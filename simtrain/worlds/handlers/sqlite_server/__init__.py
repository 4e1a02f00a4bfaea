"""The tools of a SQLite server: an agent's own SQL over a database of its own, in a sandbox apart from the world's database."""
