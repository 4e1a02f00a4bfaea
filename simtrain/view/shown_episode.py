"""A trajectory as pages show it: turns with their calls, drawn replies, what was perturbed, and the rows that changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff

import orjson

from simtrain.contracts.domain import Domain
from simtrain.contracts.drawing import DiffDrawing, Drawing, TextDrawing
from simtrain.contracts.trajectory import Step, Trajectory, Turn
from simtrain.drills.delays import delays
from simtrain.runs.typed_calls import edited_file, typed_command, typed_keys
from simtrain.values.types import Change, JsonValue
from simtrain.view.word_diff import Stretch, word_diff

_MOST_LINES = 5_000
"""Longer texts are not compared line by line: it would take too long for a page."""


@dataclass(frozen=True)
class ShownStep:
    """A call and its reply. `seconds` are those of the wall clock; `delay` is of virtual time."""

    step: Step
    arguments: str
    drawing: Drawing
    labels: Sequence[str]
    clean: str | None
    differences: Sequence[Stretch] | None
    source: str
    seconds: float | None
    delay: str | None


@dataclass(frozen=True)
class ShownTurn:
    """A message of the agent with its calls."""

    number: int
    turn: Turn
    steps: Sequence[ShownStep]


@dataclass(frozen=True)
class ChangedField:
    """A field before and after; `diff` tells how, where it is text of several lines."""

    name: str
    before: str
    after: str
    diff: Drawing


@dataclass(frozen=True)
class ChangedRow:
    """A row that changed: what happened to it, and its fields."""

    kind: str
    fields: Sequence[ChangedField]


def shown_turns(trajectory: Trajectory, domain: Domain) -> list[ShownTurn]:
    """Return the turns of a trajectory."""
    late = delays(trajectory)
    seconds: Sequence[float] = trajectory.timing.get("steps", ())
    return [
        ShownTurn(number, turn, [_shown(step, domain, late, seconds) for step in turn.steps])
        for number, turn in enumerate(trajectory.turns, 1)
    ]


def _shown(step: Step, domain: Domain, late: Mapping[int, str], seconds: Sequence[float]) -> ShownStep:
    # The innermost perturbation is recorded first, and met the reply of the tool itself.
    clean = step.events[0].clean if step.events else None
    reply = step.observation
    provenance = reply.provenance
    return ShownStep(
        step,
        _arguments_beside_reply(step),
        drawn(step, domain),
        [event.label for event in step.events],
        clean.text if clean else None,
        word_diff(clean.text, reply.text) if clean and clean.text != reply.text else None,
        " ".join(part for part in (provenance.source, provenance.model) if part) if provenance else "",
        seconds[step.index] if step.index < len(seconds) else None,
        late.get(step.index),
    )


def shown_arguments(step: Step) -> str:
    """Return the arguments of a call as pages show them."""
    return step.action.malformed if step.action.malformed is not None else pretty(step.action.arguments)


def _arguments_beside_reply(step: Step) -> str:
    """Return the arguments of a call without those that its drawn reply shows: a command line, the lines that an edit changes."""
    if step.events or step.action.malformed is not None:
        return shown_arguments(step)
    keys, path = typed_keys(step), edited_file(step)
    if keys is not None:
        return "\n".join(keys)
    if path is not None:
        return path
    if typed_command(step) is not None:
        rest = {name: value for name, value in step.action.arguments.items() if name != "command"}
        return pretty(rest) if rest else ""
    return shown_arguments(step)


def drawn(step: Step, domain: Domain) -> Drawing:
    """Return a reply as its domain draws it, or as text where it has not the form that the domain knows."""
    try:
        return domain.draw(step.action, step.observation)
    # A reply that was spoilt on purpose need not have the form that its domain draws.
    except (ValueError, TypeError, KeyError, AttributeError):
        return [TextDrawing(step.observation.text)]


def pretty(value: JsonValue) -> str:
    """Return JSON on several lines, or on one if it is short."""
    line = orjson.dumps(value).decode()
    return line if len(line) <= 80 else orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


def changed_rows(changes: Sequence[Change]) -> list[ChangedRow]:
    """Return rows that changed, with the fields that differ; of a new or deleted row all of them."""
    return [_changed(change) for change in changes]


def _changed(change: Change) -> ChangedRow:
    before, after = change.before or {}, change.after or {}
    names = [name for name in {**before, **after} if before.get(name) != after.get(name) or not (before and after)]
    fields = list({**before, **after}.items())
    # Each row about a machine begins with its name.
    keys = fields[: 2 if fields and fields[0][0] == "host" else 1]
    title = " ".join(f"{name} {_word(value)}" for name, value in keys)
    kind = "new" if change.before is None else "deleted" if change.after is None else "changed"
    return ChangedRow(f"{kind}: {title}", [_field(name, before.get(name, ""), after.get(name, "")) for name in names])


def _field(name: str, before: JsonValue, after: JsonValue) -> ChangedField:
    old, new = _word(before), _word(after)
    longest = max(text.rstrip("\n").count("\n") for text in (old, new))
    if not 0 < longest < _MOST_LINES:
        return ChangedField(name, old, new, [])
    # The first two lines name files, of which there are none.
    lines = list(unified_diff(old.splitlines(), new.splitlines(), lineterm=""))[2:]
    return ChangedField(name, old, new, [DiffDrawing("\n".join(lines))])


def _word(value: JsonValue) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
