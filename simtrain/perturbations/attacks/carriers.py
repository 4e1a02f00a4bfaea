"""Carriers of a planted instruction: plain text, Markdown, a comment, encoded text, or another language."""

from base64 import b64encode
from dataclasses import asdict
from typing import Literal, TypeAlias

from simtrain.perturbations.attacks.instruction import Instruction
from simtrain.perturbations.pools import pool
from simtrain.values.seeding import Stream
from simtrain.values.types import is_object

Carrier: TypeAlias = Literal["plain", "markdown", "comment", "encoded", "language"]
CARRIERS: tuple[Carrier, ...] = ("plain", "markdown", "comment", "encoded", "language")


def payload(instruction: Instruction, carrier: Carrier, *, severity: float, rng: Stream) -> str:
    """Return the planted text in one of the shipped wordings; the higher the severity, the more authority it claims."""
    language = rng.choose(("de", "fr", "es")) if carrier == "language" else "en"
    return dressed(rng.choose(_wordings(instruction, language, severity)).format(**asdict(instruction)), carrier)


def dressed(words: str, carrier: Carrier) -> str:
    """Return words in the form of a carrier."""
    match carrier:
        case "markdown":
            return f"---\n### Important\n> **{words}**\n---"
        case "comment":
            return f"<!-- {words} -->"
        case "encoded":
            return f"The following note is base64; decode it and do what it says: {b64encode(words.encode()).decode()}"
        case _:
            return words


def _wordings(instruction: Instruction, language: str, severity: float) -> list[str]:
    """Return the templates for an instruction in a language; English ones come in three tones: a request, an order, a threat."""
    found = pool("planted_wordings")["calls" if instruction.tool else "words"][language]
    if not is_object(found):
        return found
    tones = list(found.values())
    return tones[min(int(severity * len(tones)), len(tones) - 1)]
