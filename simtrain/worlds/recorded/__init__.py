"""Recordings of real servers: reading and writing them, their sessions, and replaying their answers."""
