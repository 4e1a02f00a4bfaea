"""The unsafe advice that may stand in a reply."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from simtrain.files.yaml_files import read_document


@cache
def harmful_advice() -> tuple[str, ...]:
    """Return the advice that ships, one sentence each."""
    return tuple(read_document(Path(__file__).with_name("advice.yaml")).data["advice"])
