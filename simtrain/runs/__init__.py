"""Rollouts and runs of them: schedule, workers, run folder, resume, solvability, exporters. Imports curricula and below."""
