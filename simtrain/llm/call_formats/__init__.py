"""The forms in which models write tool calls as text, one family a file, each read back exactly."""
