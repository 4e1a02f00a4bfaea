"""The values that cross every border, and what can be read out of them. Imports nothing of simtrain."""
