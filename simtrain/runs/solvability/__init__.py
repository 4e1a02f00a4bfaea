"""Proofs by search that a task can still be done under perturbations; they replay to full reward."""
