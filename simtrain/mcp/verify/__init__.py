"""Verification: the same generated calls on a real server and on its stand-in, and every difference between the replies."""
