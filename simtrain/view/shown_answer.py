"""The table of an answer with the score of each cell, as the grader of WideSearch questions leaves it in its reward."""

from simtrain.contracts.drawing import MOST_ROWS, TableDrawing
from simtrain.contracts.trajectory import Reward
from simtrain.values.types import JsonObject, JsonValue, is_list, is_object

NAME = "table"
"""Of the table among the details of a reward."""


def answer_table(reward: Reward) -> TableDrawing | None:
    """Return the drawing of the table in a reward; None if it has none that can be drawn."""
    found = reward.detail.get(NAME)
    try:
        return _drawn(found) if is_object(found) else None
    # Of a grader that is not ours.
    except (KeyError, TypeError, ValueError):
        return None


def other_details(reward: Reward) -> JsonObject:
    """Return what a reward says beside the table that is drawn."""
    return {name: value for name, value in reward.detail.items() if name != NAME or answer_table(reward) is None}


def _drawn(table: JsonObject) -> TableDrawing:
    columns = [str(name) for name in table["columns"]]
    rows = list[list[str]]()
    marks, right = dict[tuple[int, int], str](), 0
    for number, row in enumerate(table["rows"][:MOST_ROWS]):
        cells = [_cell(row, place) for place in range(len(columns))]
        rows.append([words for words, _ in cells])
        marks |= {(number, place): "good" if good else "bad" for place, (_, good) in enumerate(cells)}
        right += sum(good for _, good in cells)
    more = max(0, len(table["rows"]) - MOST_ROWS)
    return TableDrawing(f"{right} of {len(rows) * len(columns)} cells are right", columns, rows, more, marks)


def _cell(row: JsonObject, place: int) -> tuple[str, bool]:
    """Return a cell in words, and whether it earned its credit."""
    given: JsonValue = row.get("given")
    if given is None:
        return f"lacking: {row['gold'][place]}", False
    if "credit" not in row:
        return f"not asked for: {given[place]}", False
    credit = row["credit"][place] if is_list(row["credit"]) else row["credit"]
    return (
        (str(given[place]), True) if credit == 1 else (f"{given[place] or 'nothing'}, not {row['gold'][place]}", False)
    )
