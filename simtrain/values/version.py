"""The version of simtrain: part of what makes two runs the same."""

VERSION = "0.1.0"
