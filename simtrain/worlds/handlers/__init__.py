"""Tools of service worlds as Python functions, where SQL is not enough; one file or folder for each server."""
