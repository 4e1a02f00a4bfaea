"""Perturbations, one mechanism per file, and the helpers that only they use. Imports worlds and below."""
