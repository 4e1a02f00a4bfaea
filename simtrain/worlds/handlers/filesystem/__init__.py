"""The tools of a filesystem server, over files that are rows of a world: nothing here ever touches a file of the host.

Needs the tables `nodes` and `roots` that `tree` describes.
"""
