"""The engines behind embedded worlds, one folder for each kind."""
