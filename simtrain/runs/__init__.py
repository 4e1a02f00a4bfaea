"""Rollouts and runs of them: sessions, schedule, workers, run folder, resume, solvability, exporters. Imports curricula and below."""
