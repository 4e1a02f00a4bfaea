"""The room of perturbations: what goes wrong on purpose, one mechanism a file."""
