"""Scoring of tables as WideSearch does it: `strict` (the default, for rewards) and `compatible` (the reference's figures)."""
