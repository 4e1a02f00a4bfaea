"""A trajectory as pages show it: turns with their calls, drawn replies, what was perturbed, and the rows that changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson

from simtrain.contracts.domain import Domain
from simtrain.contracts.drawing import Drawing, TextDrawing
from simtrain.contracts.trajectory import Step, Trajectory, Turn
from simtrain.drills.delays import delays
from simtrain.values.types import Change, JsonValue
from simtrain.view.word_diff import Stretch, word_diff


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
class ChangedRow:
    """A row that changed: what happened to it, and each of its fields before and after."""

    kind: str
    fields: Sequence[tuple[str, str, str]]


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
        shown_arguments(step),
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
    key = next(iter({**before, **after}.items()), None)
    title = f"{key[0]} {_word(key[1])}" if key else ""
    kind = "new" if change.before is None else "deleted" if change.after is None else "changed"
    cells = [
        (name, _word(before[name]) if name in before else "", _word(after[name]) if name in after else "")
        for name in names
    ]
    return ChangedRow(f"{kind}: {title}", cells)


def _word(value: JsonValue) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
