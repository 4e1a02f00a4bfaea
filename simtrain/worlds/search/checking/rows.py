"""Checks lines: neighbouring facts are about the same row in all lines of a kind, or in none."""

from collections.abc import Sequence

from simtrain.worlds.search.checking.customs import Customs, Odd
from simtrain.worlds.search.checking.statements import Stated


def note_lines(customs: Customs, body: str, statements: Sequence[Stated]) -> None:
    """Note whether neighbouring statements of a type in a line are about the same row. The statements are in order of position."""
    line_end = -1
    line: list[Stated] = []
    for one in statements:
        if one.place > line_end:
            _note(customs, line)
            line = []
            line_end = body.find("\n", one.place)
            line_end = len(body) if line_end < 0 else line_end
        line.append(one)
    _note(customs, line)


def _note(customs: Customs, line: Sequence[Stated]) -> None:
    if len(line) < 2:
        return
    last: dict[str, Stated] = {}
    for one in line:
        before = last.get(one.attribute.type)
        last[one.attribute.type] = one
        if before is None:
            continue
        group = ("line", one.site, one.kind, before.attribute.id, one.attribute.id)
        customs.note(group, before.entity == one.entity, lambda one=one, before=before: _odd(one, before))


def _odd(one: Stated, before: Stated) -> Odd:
    what = f"{one.words!r} is the {one.attribute.label} of something else than {before.words!r} beside it"
    return Odd(one.page, one.place, what)
