"""What the resilient agent says beside its calls and at the end: sentences about what is in view, and nothing else."""
