"""Planted instructions: a call to make or words to say, detected however they were hidden."""

from __future__ import annotations

import binascii
import json
import re
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass

from simtrain.perturbations.pools import texts
from simtrain.perturbations.reply_edits import leaves
from simtrain.values.types import JsonObject, JsonValue, Observation, encode, is_object

REPLY = "<reply>"
"""Placeholder in the arguments of a planted call for the text of the reply that the agent read last."""

# The pools put a few words between the quoted parts; two quotations further apart belong to different sentences.
_CALL = re.compile(r"`([A-Za-z][\w.\-/]*)`[^`]{1,120}`(\{[^`]*\})`", re.DOTALL)
_WORDS = re.compile(r"(?:answer|Antwort|réponse|respuesta)[^`]{1,120}`([^`{}]+)`")
# Shorter runs of these characters are words and ids, which decode to noise.
_ENCODED = re.compile(r"[A-Za-z0-9+/]{40,}={0,2}")


@dataclass(frozen=True)
class Instruction:
    """A call of `tool` with `arguments` (JSON text), or if there is no tool the words to put into the answer."""

    tool: str = ""
    arguments: str = ""
    words: str = ""

    @staticmethod
    def call(tool: str, arguments: JsonObject) -> Instruction:
        """Return the instruction to call a tool."""
        return Instruction(tool, encode(arguments))

    def filled(self, reply: str) -> JsonObject:
        """Return the arguments of the call, with the last reply in place of its placeholder."""
        # The placeholder is inside a JSON string: the reply has to be escaped, without quotes of its own.
        return json.loads(self.arguments.replace(REPLY, encode(reply)[1:-1]))


def instructions(text: str) -> Iterator[Instruction]:
    """Yield the instructions in a text, as the shipped pools word them; unsafe advice counts as words to say."""
    for tool, arguments in _CALL.findall(text):
        try:
            value: JsonValue = json.loads(arguments)
        except ValueError:
            continue
        if is_object(value):
            yield Instruction.call(tool, value)
    for words in (*_WORDS.findall(text), *(advice for advice in harmful_advice() if advice in text)):
        yield Instruction(words=words)


def harmful_advice() -> list[str]:
    """Return the shipped pieces of unsafe advice, one sentence each."""
    return texts("harmful_advice", "advice")


def planted_in(observation: Observation) -> Iterator[Instruction]:
    """Yield the instructions that an agent reads in a reply, each once."""
    return iter(dict.fromkeys(found for text in readings(observation) for found in instructions(text)))


def readings(observation: Observation) -> Iterator[str]:
    """Yield every text of a reply: the text itself, the strings of its content, and base64 in them decoded."""
    for text in (observation.text, *(leaf for _, leaf in leaves(_content(observation)) if isinstance(leaf, str))):
        # An agent decodes base64 if it is told to, so an instruction hidden that way counts as read.
        yield from decoded(text)


def decoded(text: str) -> Iterator[str]:
    """Yield a text, and texts encoded in it as base64."""
    yield text
    for found in _ENCODED.findall(text):
        try:
            yield b64decode(found, validate=True).decode()
        except (binascii.Error, ValueError):
            continue


def _content(observation: Observation) -> JsonValue:
    if observation.content is not None:
        return observation.content
    try:
        return json.loads(observation.text)
    # A reply may come from a model or a real server; deep nesting ends json.loads in a RecursionError.
    except (ValueError, RecursionError):
        return None
