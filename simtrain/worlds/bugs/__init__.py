"""The bug factory: makes tasks of a repository with tests, by breaking it in ways that its tests notice."""
