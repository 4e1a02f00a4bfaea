"""Curricula: stages of a run, and levels of difficulty over search worlds. Imports scenarios, grading and below."""
