"""Questions over search worlds: families, composed or written by hand, their wording, their gold, and the paths to it."""
