"""A search world as a web site on this machine, for people, real browsers and agents with real fetch tools."""
