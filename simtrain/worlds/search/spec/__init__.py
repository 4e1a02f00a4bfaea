"""A search world file as it is written, and its schema, resolved."""
