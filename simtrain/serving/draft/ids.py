"""New ids: how the ids of a table are made, by those that were seen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from simtrain.serving.draft.forms import identifier, literal
from simtrain.serving.draft.lives import COUNTERS, Table
from simtrain.serving.draft.selecting import NEW_ID

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_HEX = re.compile(r"[0-9a-f]{6,64}")
_NUMBERED = re.compile(r"(.*?)(\d+)", re.DOTALL)
_EPOCH_MS = range(1_000_000_000_000, 10_000_000_000_000)


@dataclass(frozen=True)
class NewId:
    """How a new id is made: a key of `ids` or of `let`, statements that go with it, and what a table of counters begins with."""

    ids: dict[str, str] = field(default_factory=dict[str, str])
    let: dict[str, str] = field(default_factory=dict[str, str])
    write: tuple[str, ...] = ()
    counter: int | None = None


def new_id_of(table: Table) -> NewId | None:
    """How new ids of a table are made; None where nothing tells."""
    values = [life.id for life in table.lives]
    if all(isinstance(value, int) for value in values):
        numbers = [value for value in values if isinstance(value, int)]
        if all(value in _EPOCH_MS for value in numbers):
            return NewId(let={NEW_ID: "select cast(strftime('%s', :now) as integer) * 1000"})
        return _counted(table, "", 0, numbers)
    texts = [str(value) for value in values]
    if all(_UUID.fullmatch(text) for text in texts):
        return NewId(ids={NEW_ID: "{hex:8}-{hex:4}-4{hex:3}-8{hex:3}-{hex:12}"})
    numbered = [_NUMBERED.fullmatch(text) for text in texts]
    prefixes = {match[1] for match in numbered if match}
    if all(numbered) and len(prefixes) == 1:
        digits = [match[2] for match in numbered if match]
        width = (
            len(digits[0])
            if len({len(one) for one in digits}) == 1 and any(one.startswith("0") for one in digits)
            else 0
        )
        return _counted(table, prefixes.pop(), width, [int(one) for one in digits])
    return _random(texts)


def _random(texts: Sequence[str]) -> NewId | None:
    """Ids that look random: a common beginning, and digits of one length."""
    if len({len(text) for text in texts}) != 1:
        return None
    heads = {text[: max(text.rfind("_"), text.rfind("-")) + 1] for text in texts}
    prefix = heads.pop() if len(heads) == 1 else ""
    rest = [text[len(prefix) :] for text in texts]
    if all(_HEX.fullmatch(text) for text in rest) or all(re.fullmatch(r"[A-Za-z0-9_-]{6,40}", text) for text in rest):
        return NewId(ids={NEW_ID: f"{prefix}{{hex:{len(rest[0])}}}"})
    return None


def _counted(table: Table, prefix: str, width: int, numbers: Sequence[int]) -> NewId:
    """Ids that count up: one more than the largest that stands, or, where ids are never given again, than the largest ever."""
    if not _never_again(table, len(prefix)):
        name, column = identifier(table.name), identifier(table.id)
        number = f"cast(substr({column}, {len(prefix) + 1}) as integer)" if prefix or width else column
        return NewId(let={NEW_ID: f"select {_written(prefix, width, f'coalesce(max({number}), 0) + 1')} from {name}"})
    first = max((_number(life.id, len(prefix)) for life in table.initial()), default=min(numbers) - 1)
    where = f"where name = {literal(table.name)}"
    return NewId(
        let={NEW_ID: f"select {_written(prefix, width, 'value + 1')} from {COUNTERS} {where}"},
        write=(f"update {COUNTERS} set value = value + 1 {where}",),
        counter=first,
    )


def _written(prefix: str, width: int, number: str) -> str:
    shown = f"printf('%0{width}d', {number})" if width else number
    return f"{literal(prefix)} || ({shown})" if prefix else shown


def _number(identity: str | int, prefix: int) -> int:
    return int(str(identity)[prefix:])


def _never_again(table: Table, prefix: int) -> bool:
    """Whether an id was passed over that had become free: the largest had gone when the next row came."""
    for life in table.lives:
        if life.born is None:
            continue
        others = [other for other in table.lives if other.course == life.course and other is not life]
        largest = max((_number(o.id, prefix) for o in others if o.lives_before(life.born)), default=0)
        ever = max((_number(o.id, prefix) for o in others if o.born is None or o.born < life.born), default=0)
        if ever > largest and _number(life.id, prefix) > ever:
            return True
    return False
