"""Drills: the same episodes with and without what goes wrong, and what an agent made of it."""
