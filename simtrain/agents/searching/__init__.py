"""Skills of the searching agents: reading a question, a page, and the web one call at a time."""
