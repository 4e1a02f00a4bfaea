"""`simtrain train`: a recipe in YAML becomes demonstrations, checkpoints, curves and a report on worlds that were held out.

A thin wrapper over TRL (extras `train` and, for its own server, `llamacpp`).
"""
