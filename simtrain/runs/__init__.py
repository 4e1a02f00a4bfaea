"""Rollouts, and runs of many: sessions, schedule, workers, run folder, resume, solvability, exporters. Imports curricula and below."""
