"""The version of simtrain; runs are reproducible only within one version."""

VERSION = "0.1.0"
