"""Write the answer: a Markdown table, and aggregates over groups."""

from collections.abc import Mapping, Sequence

from simtrain.agents.searching.asked import ReadQuestion, Wanted
from simtrain.agents.searching.knowing import Knowing, Thing
from simtrain.agents.searching.pages import stems
from simtrain.agents.searching.reader import Reading
from simtrain.contracts.question import MISSING
from simtrain.values.passages import read_amount


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return the requested Markdown table in a code block."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(["```markdown", *(f"| {' | '.join(line)} |" for line in lines), "```"])


def counted(
    asked: ReadQuestion, groups: Mapping[str, Sequence[Thing]], path: Sequence[str], knowing: Knowing
) -> Reading[list[list[str]]]:
    """Return a row for each group: its name, the number of its things, their total or mean, or a value of the group itself."""
    rows: list[list[str]] = []
    for name, members in groups.items():
        row = [name]
        for wanted in asked.columns[1:]:
            row.append((yield from _figure(wanted, members, path, knowing)))
        rows.append(row)
    return rows


def _figure(wanted: Wanted, members: Sequence[Thing], path: Sequence[str], knowing: Knowing) -> Reading[str]:
    if wanted.figure == "count":
        return str(len(members))
    if wanted.figure:
        values: list[float] = []
        for thing in members:
            statement = yield from knowing.value(thing, wanted.path, "number")
            number = read_amount(statement.text) if statement is not None else None
            if number is not None:
                values.append(number)
        if not values:
            return MISSING
        return f"{sum(values) if wanted.figure == 'sum' else sum(values) / len(values):g}"
    inner = wanted.path if stems(wanted.path[0]) == stems(path[0]) else (*path, wanted.path[-1])
    return (yield from knowing.cell(members[0], inner, wanted.unit))
