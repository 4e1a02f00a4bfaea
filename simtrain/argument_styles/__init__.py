"""Argument styles: one file for each library whose servers are impersonated."""
