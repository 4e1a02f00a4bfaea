"""A container of Docker for each run: the image's programs, read-only, and folders in memory for what a command brings and leaves."""
