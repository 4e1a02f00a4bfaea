"""Proofs of scenario families and audits of search worlds. Imports drills and below."""
