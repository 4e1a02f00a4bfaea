"""Graders: each checks one thing about a finished episode."""
