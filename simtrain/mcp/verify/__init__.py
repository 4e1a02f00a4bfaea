"""Verification: send the same generated calls to a real server and its stand-in, and report every difference in the replies."""
