"""A small search world for tests, as text: every construct once, in few pages."""

from __future__ import annotations

from simtrain.testing.example_worlds import FOLDER

UNIVERSE = (FOLDER / "web.yaml").read_text()
