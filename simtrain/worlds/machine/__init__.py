"""Machine worlds: files, users, processes and services behind a shell. `engine.py` says what a shell must do, `commands/` holds our own."""
