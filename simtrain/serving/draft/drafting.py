"""Making a draft: from what was observed to a world whose every bound tool gives at least one recorded reply again, and succeeds
nowhere where the real one refused."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from simtrain.errors import InputError
from simtrain.serving.draft.history import History
from simtrain.serving.draft.observed import Observed
from simtrain.serving.draft.refusing import split_calls
from simtrain.serving.draft.rehearsal import Rehearsed, rehearse
from simtrain.serving.draft.tools import ToolDraft, draft_tools
from simtrain.serving.draft.tracing import build_history
from simtrain.serving.draft.world import Draft, draft_text, world_name

_TOOL = re.compile(r"tools\[(\d+)\]")


@dataclass(frozen=True, eq=False)
class Drafted:
    """A draft, and what became of the recorded calls when they were played against it."""

    draft: Draft
    rehearsed: dict[str, Rehearsed]


async def make_draft(observed: Observed, manifest: Path, *, name: str | None = None) -> Drafted:
    """The draft of a server. A tool whose successful replies all come out different, or that does what was refused, is left unbound.

    Raises InputError.
    """
    history = build_history(observed)
    draft = Draft(history, tuple(draft_tools(history)), world_name(name or observed.manifest.name))
    while True:
        text = draft_text(draft, manifest=str(manifest.resolve()))
        try:
            rehearsed = await rehearse(text, history)
        except InputError as error:
            draft = _without_faulty(draft, error)
            continue
        kept = tuple(_kept(history, tool, rehearsed[tool.name]) for tool in draft.tools)
        if kept == draft.tools:
            return Drafted(draft, rehearsed)
        # What one tool writes others show: without it they are played again.
        draft = replace(draft, tools=kept)


def _without_faulty(draft: Draft, error: InputError) -> Draft:
    """The draft without the tool that does not load. Raises the error where it is not a bound tool's."""
    place = _TOOL.match(error.place or "")
    tool = draft.tools[int(place[1])] if place else None
    if tool is None or tool.binding is None:
        raise error
    unbound = ToolDraft(tool.name, None, f"the SQL drafted for it does not load ({error.problem})")
    return replace(draft, tools=tuple(unbound if other is tool else other for other in draft.tools))


def _kept(history: History, tool: ToolDraft, rehearsed: Rehearsed) -> ToolDraft:
    if tool.binding is None:
        return tool
    if rehearsed.let_through is not None:
        return ToolDraft(tool.name, None, f"it would do what the server refused ({rehearsed.let_through})")
    done = {call.number for call in split_calls(history, tool.name)[0]}
    if done & rehearsed.right:
        return tool
    return ToolDraft(tool.name, None, f"its replies came out different ({rehearsed.first})")
