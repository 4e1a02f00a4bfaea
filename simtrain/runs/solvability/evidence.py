"""Decide which values of a true reply an agent has seen in its own replies, and may therefore act on.

The checker knows every true reply, but may act on a value only once the episode has shown it: in the reply itself, in a
repetition, or in another reply about the same record.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from simtrain.agents.planned import Planned
from simtrain.perturbations.reply_edits import leaves, name_at
from simtrain.values.normal_text import normal_text
from simtrain.values.numerals import read_number
from simtrain.values.types import JsonObject, JsonValue, Observation, as_object, encode, is_list, is_object

SHORT = 3
"""Texts shorter than this, and numbers below TELLING, do not identify a record."""
TELLING = 100

# A comma may separate thousands or cells: both readings count.
_NUMBERS = (
    re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d{1,2})?(?!\d)"),
    re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?"),
)

_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[tT ]\d\d:\d\d(?::\d\d)?[zZ]")

Scalar = str | float | bool | None


def same_reply(first: Observation, second: Observation) -> bool:
    """True if two replies are equal: both errors or neither, with equal content, or equal text if they have no content."""
    if first.is_error is not second.is_error:
        return False
    one, other = first.content, second.content
    return first.text == second.text if one is None or other is None else one == other


@dataclass(frozen=True)
class AnsweredCall:
    """A reply with the arguments of its call."""

    planned: Planned
    observation: Observation

    @cached_property
    def leaves(self) -> frozenset[tuple[str, Scalar]]:
        """Yield every scalar with its key; a text that holds JSON counts as its content."""
        content = self.observation.content
        parsed = content if content is not None else _parsed(self.observation.text)
        return frozenset(_leaves(parsed))

    def tells(self, key: str, value: Scalar) -> bool:
        """True if a key has a value, possibly as another type: a boolean or null as text, a time in seconds."""
        return any((key, form) in self.leaves for form in (value, *_other_forms(value)))

    @cached_property
    def values(self) -> frozenset[Scalar]:
        """Return every scalar, whatever its key, and every number in the texts."""
        found = {value for _, value in self.leaves}
        texts = [self.observation.text, *(value for value in found if isinstance(value, str))]
        for text in texts:
            found.update(float(number.replace(",", "")) for form in _NUMBERS for number in form.findall(text))
        found.update(number for text in texts[1:] if (number := read_number(text)) is not None)
        return frozenset(found)

    @cached_property
    def text(self) -> str:
        """Return all readable text, normalised for comparison."""
        texts = (value for _, value in self.leaves if isinstance(value, str))
        return "\n".join([normal_text(self.observation.text), *texts])

    @cached_property
    def given(self) -> frozenset[Scalar]:
        """Return the scalars of the arguments."""
        return frozenset(value for _, value in _leaves(self.planned.arguments))

    def says(self, value: Scalar) -> bool:
        """True if a value is in the reply."""
        # Longer texts may be part of a sentence; shorter ones would be found by chance.
        if isinstance(value, str) and len(value) >= SHORT:
            return value in self.text
        return value in self.values

    def speaks_of(self, names: frozenset[Scalar]) -> bool:
        """True if the call or its reply names one of these, or if `names` is empty."""
        return not names or not names.isdisjoint(self.given) or any(self.says(name) for name in names)


@dataclass(frozen=True, slots=True)
class Believed:
    """A reply as far as it may be believed, and the (key, value) pairs of the true one that no reply has shown."""

    observation: Observation
    gaps: frozenset[tuple[str, Scalar]]


@dataclass(frozen=True, slots=True)
class HeardReplies:
    """All replies of an episode so far, in order."""

    heard: tuple[AnsweredCall, ...] = ()

    def with_reply(self, planned: Planned, observation: Observation) -> HeardReplies:
        """Return the evidence with one more reply."""
        return replace(self, heard=(*self.heard, AnsweredCall(planned, observation)))

    def known(self) -> JsonObject:
        """Return the latest value seen under each name; the `id` of a record in a list is also given as the id of its kind."""
        found: JsonObject = {}
        for item in self.heard:
            content = item.observation.content
            _gather(found, "", content if content is not None else _parsed(item.observation.text))
            found.update({name: value for name, value in item.planned.arguments.items() if not is_object(value)})
        return found

    def answered(self, *texts: str) -> list[Planned]:
        """Return the calls that were answered, with `texts` only those whose reply contains one of them; the latest first,
        each once.
        """
        found: list[Planned] = []
        for item in reversed(self.heard):
            received = item.observation
            fits = not texts or any(text in received.text for text in texts)
            if fits and item.planned.tool and item.planned not in found and not received.is_error:
                found.append(item.planned)
        return found

    def refused(self, planned: Planned) -> bool:
        """True if the call was made but never answered."""
        made = [item.observation.is_error for item in self.heard if item.planned == planned]
        return bool(made) and all(made)

    def telling_of(self, planned: Planned) -> list[Planned]:
        """Return the other calls whose replies contain a text of this call, the latest first, each once."""
        texts = [value for value in planned.arguments.values() if isinstance(value, str) and len(value) >= SHORT]
        return [call for call in (self.answered(*texts) if texts else []) if call != planned]

    def believe(self, planned: Planned, true: Observation, received: Observation) -> Believed:
        """Return the true reply to a call as far as the episode has shown it; elsewhere, the values actually received."""
        if same_reply(true, received):
            return Believed(received, frozenset())
        content = true.content
        if true.is_error or content is None:
            own = [item.observation for item in self.heard if item.planned == planned or item.observation is received]
            # Such a reply has no fields, so it is shown as a whole or not at all.
            shown = any(same_reply(true, item) or (not true.is_error and _within(true.text, item)) for item in own)
            return Believed(true, frozenset()) if shown else Believed(received, frozenset({("", true.text)}))
        judged = _Judging(self, planned, received)
        instead = None if received.is_error else received.content
        believed = judged.value("", content, instead, frozenset())
        if not judged.gaps:
            return Believed(true, frozenset())
        # Nothing of the reply is known, so the agent has only the error.
        if received.is_error and not judged.shown:
            return Believed(received, frozenset(judged.gaps))
        return Believed(Observation(encode(believed), json=True), frozenset(judged.gaps))


def _within(text: str, received: Observation) -> bool:
    """True if every line of a text is in a reply, in order."""
    place = 0
    for line in text.splitlines():
        place = received.text.find(line, place)
        if received.is_error or place < 0:
            return False
        place += len(line)
    return True


class _Judging:
    """One true reply, value by value."""

    def __init__(self, evidence: HeardReplies, planned: Planned, received: Observation) -> None:
        self.evidence = evidence
        self.planned = planned
        self.given = frozenset(_telling(planned.arguments))
        self.own = [
            item
            for item in evidence.heard
            if (item.planned == planned or item.observation is received) and not item.observation.is_error
        ]
        self.gaps: set[tuple[str, Scalar]] = set()
        self.shown = 0

    def value(self, key: str, true: JsonValue, received: JsonValue, names: frozenset[Scalar]) -> JsonValue:
        """Return the believable part of a value in the reply; `names` are the scalars that identify its record."""
        if is_object(true):
            other = as_object(received)
            telling = frozenset(_telling(true)) or names
            parts = {name: self.value(name, item, other.get(name), telling) for name, item in true.items()}
            return {name: item for name, item in parts.items() if item is not _NOTHING}
        if is_list(true):
            others = received if is_list(received) else []
            padded = [*others, *[None] * len(true)]
            parts = [self.value(key, item, other, names) for item, other in zip(true, padded, strict=False)]
            return [item for item in parts if item is not _NOTHING and item != {}]
        value = _scalar(true)
        if self._witnessed(key, value, names):
            self.shown += 1
            return true
        self.gaps.add((key, value))
        return _NOTHING if received is None else received

    def _witnessed(self, key: str, value: Scalar, names: frozenset[Scalar]) -> bool:
        # A value does not identify its own record.
        others = (names - {value}) or (self.given - {value})
        return (
            any(item.tells(key, value) or (item.says(value) and item.speaks_of(others)) for item in self.own)
            or value in self.given
            or any(
                (item.tells(key, value) or (_is_telling(value) and item.says(value))) and item.speaks_of(others)
                for item in self.evidence.heard
                if not item.observation.is_error
            )
        )


_NOTHING = object()


def _other_forms(value: Scalar) -> tuple[Scalar, ...]:
    """Return the other forms in which a value may be written."""
    if isinstance(value, bool):
        return ("true", "yes") if value else ("false", "no")
    if value is None:
        return ("null", "")
    if isinstance(value, str) and _INSTANT.fullmatch(value):
        with suppress(ValueError):
            return (datetime.fromisoformat(value.upper()).timestamp(),)
    return ()


def _telling(value: JsonValue) -> Iterator[Scalar]:
    """Yield the scalars of a record, one level deep, that identify it."""
    members = value.values() if is_object(value) else ()
    for item in members:
        if not isinstance(item, dict | list) and _is_telling(found := _scalar(item)):
            yield found


def _is_telling(value: Scalar) -> bool:
    if isinstance(value, str):
        return len(value) >= SHORT
    return isinstance(value, float) and abs(value) >= TELLING


def _scalar(value: JsonValue) -> Scalar:
    if isinstance(value, str):
        return normal_text(value)
    # JSON does not distinguish 3 from 3.0.
    return value if value is None or isinstance(value, bool) else float(value)


def _leaves(value: JsonValue) -> Iterator[tuple[str, Scalar]]:
    return ((name_at(path), _scalar(leaf)) for path, leaf in leaves(value))


def _parsed(text: str) -> JsonValue:
    """Return the value of a text that is JSON; else the text."""
    # A bare number or word is a text; only objects and lists have keys.
    if text[:1] not in ("{", "["):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _gather(found: JsonObject, key: str, value: JsonValue) -> None:
    if is_object(value):
        if key and "id" in value:
            found[f"{key.removesuffix('s')}_id"] = value["id"]
        for name, item in value.items():
            _gather(found, name, item)
    elif is_list(value):
        for item in value:
            _gather(found, key, item)
    elif key:
        found[key] = value
