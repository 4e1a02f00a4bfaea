"""What the searching agents know: to read a question, a page, and the web one call at a time."""
