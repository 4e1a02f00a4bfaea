"""Adapters to other frameworks, each in one file; those that need more than the core are extras. Imports public and below."""
