"""Proofs that a world file is consistent, by a scan of its own that knows nothing of how pages are made."""
