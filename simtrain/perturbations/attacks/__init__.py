"""Attacks by planted instructions: what they are after, how they are worded and hidden, and how they are found again."""
