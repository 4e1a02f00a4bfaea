"""The marks of a filter as SQL: they lie beside the run, not in its index."""

from dataclasses import replace
from pathlib import Path

from simtrain.runs.notes import read_notes
from simtrain.view.filters import Filter

_PLACE = "(scenario, episode, arm, attempt)"


def with_marks(chosen: Filter, run: Path) -> Filter:
    """Return a filter whose marks became part of its condition, for one run. Raises InputError for a line that is not a note."""
    if not chosen.marks:
        return chosen
    notes = read_notes(run).values()
    conditions, values = [chosen.condition], dict(chosen.values)
    for mark, holds in chosen.marks:
        # Most episodes have no note at all: those without a mark are all but those that have any.
        places = [note.place for note in notes if note.mark and mark in (note.mark, "")]
        inside = holds if mark else not holds
        named = list[str]()
        for place in places:
            keys = [f"m{len(values) + offset}" for offset in range(len(place))]
            values |= dict(zip(keys, place, strict=True))
            named.append(f"({', '.join(f':{key}' for key in keys)})")
        # Without any, nothing is inside.
        listed = f"{_PLACE} {'in' if inside else 'not in'} (values {', '.join(named)})"
        conditions.append(listed if named else str(int(not inside)))
    return replace(chosen, condition=" and ".join(conditions), values=values, marks=())
