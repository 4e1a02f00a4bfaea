"""Domains: each translates one kind of tool call for world models."""
