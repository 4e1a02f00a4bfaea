"""Adapters to other frameworks, each in one file; those that need more packages than the core are extras."""
