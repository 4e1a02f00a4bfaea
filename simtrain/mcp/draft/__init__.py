"""Drafts: service worlds made from captured manifests and recordings, as a starting point for an author."""
