"""A run of hostile inputs, `make fuzz`: no traceback, no hang, no more than 1 GiB."""
