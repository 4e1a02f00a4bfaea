"""Repositories of code: the files of a folder, its history as commits, and patches between states of it."""
