"""The cells of a gold table that must be found out: those with a value that the question does not give."""

import re
from collections.abc import Iterable, Sequence

from simtrain.contracts.question import MISSING, Question, normal_name
from simtrain.values.types import JsonObject

_JOINED = re.compile(r"[^\W\u4e00-\u9fff]")
"""A character that belongs to the word beside it. Chinese characters do not: they are written without spaces."""


def given_cells(question: Question, gold: Sequence[JsonObject], text_given: str) -> frozenset[tuple[str, str]]:
    """Return the cells (normalised column, text) that a text gives away: names and key cells that it contains verbatim.

    Other cells do not count, since an amount or a category in a question does not say whose it is.
    """
    columns = [column.name for column in question.columns if column.names is not None or column.name in question.key]
    text = text_given.casefold()
    cells = {(name, str(row[name])) for name in columns for row in gold}
    found = (cell for cell in cells if cell[1] != MISSING and _stands_in(cell[1].casefold(), text))
    return frozenset((normal_name(name), cell) for name, cell in found)


def asks_for_something(gold: Iterable[JsonObject], given: frozenset[tuple[str, str]]) -> bool:
    """Return True if any cell of a gold table must be found out."""
    return any(is_sought(name, str(cell), given) for row in gold for name, cell in row.items())


def is_sought(column: str, cell: str, given: frozenset[tuple[str, str]]) -> bool:
    """Return True if a gold cell has a value that is not given."""
    return cell != MISSING and (normal_name(column), cell) not in given


def _stands_in(words: str, text: str) -> bool:
    place = text.find(words)
    while place >= 0:
        end = place + len(words)
        if not any(map(_JOINED.match, (text[max(0, place - 1) : place], text[end : end + 1]))):
            return True
        place = text.find(words, place + 1)
    return False
