"""Apps: pages of HTML over a database."""
