"""The pictures of README and docs: all are made by one script, all are shown, and they stay small."""

from __future__ import annotations

import ast
import re
import struct
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SHOWN = re.compile(r"!\[[^\]]+\]\((?:docs/)?([\w-]+\.png)\)")


def made() -> set[str]:
    """The names that the script makes, read from its text: playing for them takes minutes."""
    for node in ast.parse((DOCS / "make_pictures.py").read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PICTURES":
            return set(ast.literal_eval(node.value))
    raise AssertionError("the script names no pictures")


def test_every_picture_is_made_by_the_script_and_shown_with_words() -> None:
    files = {file.name for file in DOCS.glob("*.png")}
    shown = {name for page in (ROOT / "README.md", *DOCS.glob("*.md")) for name in SHOWN.findall(page.read_text())}
    assert files == made() == shown


def test_pictures_are_small() -> None:
    files = list(DOCS.glob("*.png"))
    assert sum(file.stat().st_size for file in files) < 1_000_000
    for file in files:
        head = file.read_bytes()[:24]
        assert head.startswith(b"\x89PNG")
        width, height = struct.unpack(">II", head[16:24])
        assert 300 <= height <= 900 <= width <= 1400


def test_the_drill_that_is_shown_is_the_one_in_the_readme() -> None:
    script = (DOCS / "make_pictures.py").read_text()
    command = re.search(r'^DRILL = "(.+)"$', script, re.MULTILINE)
    assert command is not None
    assert f"simtrain {command[1]}\n" in (ROOT / "README.md").read_text()
