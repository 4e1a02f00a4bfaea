"""The same episodes with and without perturbations: arms are measured, compared and reported. Imports runs and below."""
