"""Drafts: service worlds made from captured manifests and recordings, for an author to go on with."""
