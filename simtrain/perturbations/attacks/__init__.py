"""Attacks by planted instructions: their goals, how they are worded and hidden, and how they are detected."""
