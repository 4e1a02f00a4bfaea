"""A draft played against the recordings it was made from: which of the recorded replies does it give?"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from simtrain.clock import DEFAULT_START, instant
from simtrain.comparing import shown
from simtrain.errors import SimulatorFault
from simtrain.serving.draft.history import History
from simtrain.serving.draft.observed import Call
from simtrain.serving.verify.comparison import difference
from simtrain.serving.verify.pairing import Pairing
from simtrain.serving.verify.stand_in import OpenStandIn, stand_in
from simtrain.types import JsonObject, JsonValue
from simtrain.volatile import mapped

STEP = 20.0
"""Seconds between two calls."""

_EPOCH = range(1_000_000_000_000, 10_000_000_000_000)


@dataclass
class Rehearsed:
    """What became of the recorded calls of one tool: how many replies came out the same, and the first that did not.

    `let_through` is the first call that the server refused and the draft carried out.
    """

    calls: int = 0
    same: int = 0
    first: str | None = None
    let_through: str | None = None
    right: set[int] = field(default_factory=set[int])


async def rehearse(text: str, history: History) -> dict[str, Rehearsed]:
    """Play all recordings against a draft, each from the initial state; ids are mapped one to one, moments count as the same.

    `text` names its manifest by an absolute path. Raises InputError for a draft that does not load.
    """
    found = {tool: Rehearsed() for tool in history.observed.tools}
    with TemporaryDirectory(prefix="simtrain-draft-") as folder:
        path = Path(folder) / "draft.yaml"
        path.write_text(text, "utf-8")
        played = stand_in(str(path))
        for course in sorted({call.course for call in history.observed.calls}):
            calls = [call for call in history.observed.calls if call.course == course]
            async with played.episode(seed=0) as opened:
                await _play(calls, opened, _pairing(history), found)
    return found


async def _play(calls: list[Call], opened: OpenStandIn, pairing: Pairing, found: dict[str, Rehearsed]) -> None:
    moment = instant(DEFAULT_START)
    for call in calls:
        moment += STEP
        arguments = pairing.from_real(call.arguments)
        try:
            own = await opened.call(call.tool, arguments, moment=moment)
        except SimulatorFault as fault:
            own = {"error": {"code": 0, "message": str(fault)}}
        rehearsed = found[call.tool]
        rehearsed.calls += 1
        problem = difference(_without_moments(call.response), _without_moments(own), pairing)
        if problem is None:
            rehearsed.same += 1
            rehearsed.right.add(call.number)
            continue
        rehearsed.first = rehearsed.first or f"call {call.number}: {problem}"
        if rehearsed.let_through is None and _is_refusal(call.response) and not _is_refusal(own):
            rehearsed.let_through = f"call {call.number}: {shown(call.text)}"


def _is_refusal(response: JsonObject) -> bool:
    result: JsonValue = response.get("result")
    return "error" in response or (isinstance(result, dict) and cast(JsonObject, result).get("isError") is True)


def _pairing(history: History) -> Pairing:
    """The map of ids: uuids, and the ids of all rows that a recording saw made."""
    made = {
        str(life.id)
        for table in history.tables.values()
        for life in table.lives
        if life.born is not None and isinstance(life.id, str)
    }
    tokens = {"uuid": re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")}
    random = sorted(
        (identity for identity in made if re.search(r"[0-9a-f]{6}", identity)), key=lambda text: (-len(text), text)
    )
    if random:
        shapes = sorted({_shape(identity) for identity in random}, key=lambda text: (-len(text), text))
        tokens["id"] = re.compile(rf"(?<![0-9A-Za-z])(?:{'|'.join(shapes)})(?![0-9A-Za-z])")
    return Pairing({}, tokens)


def _shape(identity: str) -> str:
    """A pattern for ids like one: what stands before its last separator, and so many digits and letters."""
    head = identity[: max(identity.rfind("_"), identity.rfind("-")) + 1]
    return f"{re.escape(head)}[0-9A-Za-z]{{{len(identity) - len(head)}}}"


def _without_moments(value: JsonValue) -> JsonValue:
    """A value in which all moments are the same."""
    if isinstance(value, dict):
        return {key: _without_moments(item) for key, item in cast(JsonObject, value).items()}
    if isinstance(value, list):
        return [_without_moments(item) for item in cast("list[JsonValue]", value)]
    if isinstance(value, int) and value in _EPOCH:
        return "<moment>"
    return mapped(value, lambda text: _MOMENT.sub("<moment>", text)) if isinstance(value, str) else value


_MOMENT = re.compile(
    r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?|(?<![\d.])1[5-9]\d{11}(?![\d.])"
)
