"""Capture real servers as manifests: their surfaces, the wording of their errors, their answers to probes."""
