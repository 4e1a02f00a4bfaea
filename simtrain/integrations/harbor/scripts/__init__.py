"""Programs that an exported folder holds: the solution, and the grading. They run without simtrain, on the standard library."""
