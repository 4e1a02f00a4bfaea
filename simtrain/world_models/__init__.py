"""Whoever answers tool calls, one file each; domains/ says how calls and replies are written. Imports worlds and below."""
