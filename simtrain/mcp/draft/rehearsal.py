"""Play recorded calls against a draft, through the MCP interface, and compare its replies with the recorded ones."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from simtrain.mcp.draft.observed import RecordedCall
from simtrain.mcp.verify.comparison import difference
from simtrain.mcp.verify.pairing import Pairing
from simtrain.mcp.verify.stand_in import OpenStandIn, stand_in
from simtrain.values.clock import DEFAULT_START, instant
from simtrain.values.json_walk import each_leaf
from simtrain.values.types import JsonObject, JsonValue, is_object

STEP = 20.0
"""Seconds between two calls."""

# Milliseconds since 1970, from 2001 to 2286.
_EPOCH = range(1_000_000_000_000, 10_000_000_000_000)
_MOMENT = re.compile(
    r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?|(?<![\d.])1[5-9]\d{11}(?![\d.])"
)
_TOKENS = {
    "uuid": re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"),
    "hex": re.compile(r"(?<![0-9A-Za-z])(?=[0-9a-f]*\d)[0-9a-f]{8,}(?![0-9A-Za-z])"),
}


@dataclass(frozen=True, slots=True)
class RehearsedCall:
    """One recorded call, and how the draft's reply differs; None if it is the recorded one.

    `let_through`: the server refused the call, but the draft carried it out.
    """

    call: RecordedCall
    problem: str | None
    let_through: bool = False


async def rehearse(text: str, calls: Sequence[RecordedCall]) -> list[RehearsedCall]:
    """Play calls against a draft, each recording from the initial state; ids are mapped one to one, all times count as equal.

    `text` names its manifest by an absolute path. Raises InputError for a draft that does not load.
    """
    found: list[RehearsedCall] = []
    with TemporaryDirectory(prefix="simtrain-draft-") as folder:
        path = Path(folder) / "draft.yaml"
        path.write_text(text, "utf-8")
        played = stand_in(str(path))
        for recorded_session in sorted({call.recorded_session for call in calls}):
            async with played.episode(seed=0) as opened:
                found += await _play([call for call in calls if call.recorded_session == recorded_session], opened)
    return found


async def _play(calls: Sequence[RecordedCall], opened: OpenStandIn) -> list[RehearsedCall]:
    pairing, moment = Pairing({}, _TOKENS), instant(DEFAULT_START)
    found: list[RehearsedCall] = []
    for call in calls:
        moment += STEP
        own = await opened.call(call.tool, pairing.from_real(call.arguments), moment=moment)
        if opened.breakdown is not None:
            # The episode is over: differences after this point would be blamed on sound tools.
            return [*found, RehearsedCall(call, f"the draft breaks down: {opened.breakdown}")]
        problem = difference(_without_moments(call.response), _without_moments(own), pairing, other="draft")
        found.append(RehearsedCall(call, problem, let_through=_is_refusal(call.response) and not _is_refusal(own)))
    return found


def _is_refusal(response: JsonObject) -> bool:
    result: JsonValue = response.get("result")
    return "error" in response or (is_object(result) and result.get("isError") is True)


def _without_moments(value: JsonValue) -> JsonValue:
    """Return a value in which all times are replaced by the same one."""

    def unmoved(leaf: JsonValue) -> JsonValue:
        if isinstance(leaf, int) and leaf in _EPOCH:
            return "<moment>"
        return _MOMENT.sub("<moment>", leaf) if isinstance(leaf, str) else leaf

    return each_leaf(value, unmoved)
