"""The tools of a filesystem server over files that are rows of a world; no file of the host is ever touched.

Needs the tables `nodes` and `roots` that `tree` describes.
"""
