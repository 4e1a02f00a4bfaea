"""git on a machine: the implementation of the git stand-in over a real `.git` folder, and its command line."""
