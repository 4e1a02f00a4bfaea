"""Judge a proposal without relying on the model's claims: by its form, loading, the recorded replies, and renamed recordings."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, cast

from simtrain.mcp.draft.observed import Observed, RecordedCall
from simtrain.mcp.draft.proposal import Proposal
from simtrain.mcp.draft.rehearsal import RehearsedCall, rehearse
from simtrain.mcp.draft.renaming import renamed
from simtrain.mcp.draft.world import world_text
from simtrain.values.errors import InputError, SimulatorFault
from simtrain.values.types import JsonObject, encode

Check: TypeAlias = Literal["form", "open", "load", "reads", "replay", "held out", "read after write"]

HELD_OUT = 4
"""One in this many calls is held out from the model, except the first of each tool and channel."""

SHOWN = 1_200
"""Maximum characters of a call in an objection."""

_TOOL = re.compile(r"tools\[(\d+)\]")


@dataclass(frozen=True)
class Objection:
    """Why a proposal is rejected: the failed check, the tool if there is one, and what to change."""

    check: Check
    tool: str | None
    reason: str

    def __str__(self) -> str:
        return f"{self.check}: {f'{self.tool}: ' if self.tool else ''}{self.reason}"


@dataclass(frozen=True)
class ProposalVerdict:
    """The verdict on a proposal. `replies`: by tool, how many recorded replies it reproduces, and how many there are."""

    objections: tuple[Objection, ...]
    replies: Mapping[str, tuple[int, int]]

    @property
    def loads(self) -> bool:
        """True if the draft could be played."""
        return all(objection.check not in ("form", "load") for objection in self.objections)


def held_out(observed: Observed) -> set[int]:
    """Return the numbers of the calls that are held out from the model."""
    seen: set[tuple[str, str | int]] = set()
    found: set[int] = set()
    for call in observed.calls:
        kind = call.tool, call.channel
        # The first call of a kind is always shown: the model cannot guess a form that it has not seen.
        if kind in seen and call.number % HELD_OUT == 0:
            found.add(call.number)
        seen.add(kind)
    return found


async def judge(
    proposal: Proposal, observed: Observed, *, name: str, manifest: Path, excused: Collection[str] = ()
) -> ProposalVerdict:
    """Play a proposal and object to its faults. `excused`: tools that may stay open although there are recorded calls to them."""
    text = world_text(observed, proposal, name=name, manifest=str(manifest.resolve()), state="being judged")
    try:
        played = await rehearse(text, observed.calls)
        again = await rehearse(text, renamed(observed))
    except (InputError, SimulatorFault) as error:
        return ProposalVerdict((_unloadable(error, observed),), {})
    hidden = held_out(observed)
    found = [*_writing_reads(proposal, observed), *_left_open(proposal, observed, excused)]
    found += [objection for one in played if (objection := _objection(one, proposal, one.call.number in hidden))]
    right = {one.call.number for one in played if one.problem is None}
    found += [
        Objection("read after write", one.call.tool, f"with other words in the recorded calls, {_about(one)}")
        for one in again
        # Faults that the recording itself shows are reported only once.
        if one.problem is not None and one.call.number in right and one.call.tool in proposal.bound
    ]
    replies = {tool: _replies(played, tool) for tool in observed.tools}
    return ProposalVerdict(tuple(found), replies)


def _unloadable(error: InputError | SimulatorFault, observed: Observed) -> Objection:
    place = error.place if isinstance(error, InputError) else None
    number = _TOOL.match(place or "")
    tool = list(observed.tools)[int(number[1])] if number else None
    problem = error.problem if isinstance(error, InputError) else str(error)
    where = f" (at {place})" if place else ""
    return Objection("load", tool, f"the world does not load: {problem}{where}")


def _writing_reads(proposal: Proposal, observed: Observed) -> list[Objection]:
    """Object to tools that declare themselves read-only but write."""
    reading = [
        tool
        for tool, raw in observed.tools.items()
        if cast(JsonObject, raw.get("annotations") or {}).get("readOnlyHint") is True
    ]
    return [
        Objection("reads", tool, "it writes, and the server says that it only reads")
        for tool in reading
        if proposal.bound.get(tool, {}).get("write")
    ]


def _left_open(proposal: Proposal, observed: Observed, excused: Collection[str]) -> list[Objection]:
    if not proposal.bound:
        return [Objection("open", None, "every tool is left open")]
    # A tool with no recorded result cannot be judged, so nobody insists that it be written.
    shown = Counter(call.tool for call in observed.calls if call.channel == "result")
    return [
        Objection("open", tool, f"it is left open, and {shown[tool]} replies of it were recorded; bind it, or insist")
        for tool in proposal.open
        if shown[tool] and tool not in excused
    ]


def _objection(one: RehearsedCall, proposal: Proposal, hidden: bool) -> Objection | None:
    if one.problem is None or one.call.tool not in proposal.bound:
        return None
    if hidden:
        # The recorded reply is not quoted: a proposal could hard-code it.
        return Objection("held out", one.call.tool, f"a recorded call that you were not shown: {_about(one)}")
    words = "it carries out what the server refused; " if one.let_through else ""
    reply = encode(one.call.response)[:SHOWN]
    return Objection("replay", one.call.tool, f"{words}{_about(one)}; recorded: {reply}")


def _about(one: RehearsedCall) -> str:
    return f"call {one.call.number} with {encode(one.call.arguments)[:SHOWN]}: {one.problem}"


def _replies(played: Sequence[RehearsedCall], tool: str) -> tuple[int, int]:
    of_tool = [one for one in played if one.call.tool == tool]
    return sum(one.problem is None for one in of_tool), len(of_tool)


def shown_calls(observed: Observed) -> list[RecordedCall]:
    """Return the calls that the model is shown."""
    hidden = held_out(observed)
    return [call for call in observed.calls if call.number not in hidden]
