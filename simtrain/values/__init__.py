"""The values that all packages share, and functions on them. Imports nothing of simtrain."""
