"""One plug-in of each kind, as another package adds them by entry points."""
