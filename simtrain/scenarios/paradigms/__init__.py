"""Paradigms: how scenarios become episodes, one file each."""
