"""Mutants of the code on which figures rest, and whether the tests tell them from the code itself."""
