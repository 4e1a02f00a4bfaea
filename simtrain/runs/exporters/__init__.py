"""Exporters: one file per training format."""
