"""The graders: each asks one question about a finished episode."""
