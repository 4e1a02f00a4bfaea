"""The room of graders: one question about a finished episode each."""
