"""One noun a file: what the members of the plural folders must do. Imports files, values and the plug-in table."""
