"""Argument checks in the manner of server libraries, with their error messages; one file for each library."""
