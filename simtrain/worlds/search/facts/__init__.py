"""The facts of a search world: names, attributes and relations, drawn in the order of their dependencies."""
