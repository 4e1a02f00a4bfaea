"""The shipped wordings of planted instructions."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from simtrain.files.yaml_files import read_document
from simtrain.perturbations.attacks.instruction import Instruction
from simtrain.values.types import JsonObject, is_object


@cache
def _file() -> JsonObject:
    return read_document(Path(__file__).with_name("wordings.yaml")).data


def wordings(instruction: Instruction, language: str, severity: float) -> list[str]:
    """Return the templates for an instruction in a language; English ones come in three tones: a request, an order, a threat."""
    found = _file()["calls" if instruction.tool else "words"][language]
    if is_object(found):
        tones = list(found.values())
        return tones[min(int(severity * len(tones)), len(tones) - 1)]
    return found
