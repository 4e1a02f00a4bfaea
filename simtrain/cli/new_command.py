"""`simtrain new`: starter files."""

VERBS = ("plugin",)

HELP = """Write the files of a new plug-in, which work at once.

With --json the paths that were written are printed as JSON.

\b
Examples:
  simtrain new plugin perturbation half_reply
  simtrain new plugin grader frugality --into ~/my_graders
"""
