"""The tools of coding agents on a machine: files are read with numbered lines, edited by exact replacement, found and searched."""
