"""Ladders: curricula of levels over search worlds, climbed by the rewards that come back."""
