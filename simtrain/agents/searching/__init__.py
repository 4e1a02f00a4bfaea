"""Skills of the search agents: read a question, read a page, and use the web one call at a time."""
