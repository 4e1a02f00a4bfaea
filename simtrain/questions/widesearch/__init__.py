"""Scoring of tables as in WideSearch: `strict` (the default, for rewards) and `compatible` (the figures of the reference)."""
