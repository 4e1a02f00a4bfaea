"""The same episodes with and without what goes wrong: arms measured, compared, reported. Imports runs and below."""
