"""Independent proofs that a world file is consistent. They share no code with the rendering of pages."""
