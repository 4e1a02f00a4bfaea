"""What goes wrong on purpose, one mechanism a file, and what only they use. Imports worlds and below."""
