"""The values that cross every border, and what can be read from them. Imports nothing of simtrain."""
