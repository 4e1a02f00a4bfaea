"""Search worlds: an invented universe of facts, the web that tells of it, and the search engine over that web."""
