"""Addresses for titles."""
