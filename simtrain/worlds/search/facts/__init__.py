"""The facts of a search world: names, attributes and relations, drawn in the order of what depends on what."""
