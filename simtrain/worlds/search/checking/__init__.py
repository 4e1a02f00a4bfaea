"""Independent proofs that a world file is consistent: a scan that shares no code with the rendering of pages."""
