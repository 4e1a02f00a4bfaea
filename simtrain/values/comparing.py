"""Compare expected with given values: text, numbers as numbers, cells, rows in any order, JSON."""

from collections.abc import Sequence
from dataclasses import dataclass

from simtrain.values.normal_text import normal_text
from simtrain.values.numerals import read_number
from simtrain.values.types import JsonValue, encode, is_list, is_object

_EMPTY = frozenset({"", "null", "none", "n/a", "-", "–", "—"})


def text_of(value: JsonValue) -> str:
    """Return a value as text: text unchanged, everything else as JSON."""
    return value if isinstance(value, str) else encode(value)


def is_number(value: JsonValue) -> bool:
    """True if a value is a number; true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def same_number(expected: float, given: float, *, tolerance: float) -> bool:
    """True if two numbers differ by at most `tolerance` (absolute)."""
    # Slack for binary fractions: to a reader, 0.305 and 0.3 differ by exactly 0.005.
    return abs(expected - given) <= tolerance + 1e-12 * max(1.0, abs(expected))


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of an answer, prepared for comparison: its normal text, and its number if it holds exactly one."""

    text: str
    number: float | None


def cell_of(value: JsonValue) -> Cell:
    """Return a cell from text that an agent wrote, or from a JSON scalar."""
    if value is None:
        return Cell("", None)
    # Before numbers, since True is an int in Python.
    if isinstance(value, bool):
        return Cell("true" if value else "false", float(value))
    if is_number(value):
        return Cell(encode(value), float(value))
    return Cell(normal_text(value), read_number(value))


@dataclass(frozen=True, slots=True)
class Due:
    """The expected content of a cell, prepared for comparison: a number, or one of several normal texts."""

    texts: frozenset[str]
    number: float | None

    def matches(self, cell: Cell, *, tolerance: float) -> bool:
        """True if a cell holds it: numbers as numbers, text without case, punctuation and runs of white space."""
        if self.number is None:
            return cell.text in self.texts
        return cell.number is not None and same_number(self.number, cell.number, tolerance=tolerance)


def due(value: JsonValue) -> Due:
    """Return the expected content for a scalar: null matches an empty cell or `none`, true also matches `yes`."""
    if value is None:
        return Due(_EMPTY, None)
    if isinstance(value, bool):
        return Due(frozenset(("true", "yes") if value else ("false", "no")), None)
    if is_number(value):
        return Due(frozenset(), float(value))
    return Due(frozenset((normal_text(value),)), None)


def same_json(expected: JsonValue, given: JsonValue, *, tolerance: float) -> bool:
    """True if two JSON values are equal: numbers within `tolerance`, lists in order, true and false as 1 and 0 where 1 or 0 is due."""
    if is_object(expected):
        if not is_object(given) or expected.keys() != given.keys():
            return False
        return all(same_json(value, given[key], tolerance=tolerance) for key, value in expected.items())
    if is_list(expected):
        others = given if is_list(given) else []
        if not is_list(given) or len(expected) != len(others):
            return False
        return all(same_json(one, other, tolerance=tolerance) for one, other in zip(expected, others, strict=True))
    if is_number(expected) and isinstance(given, int | float):
        return same_number(float(expected), float(given), tolerance=tolerance)
    return type(expected) is type(given) and expected == given


@dataclass(frozen=True, slots=True)
class Overlap:
    """The overlap of two collections: the items in both, those `missing` from the given one, and those `extra` there."""

    shared: int
    missing: int
    extra: int

    @property
    def whole(self) -> bool:
        """True if nothing is missing and nothing is extra."""
        return self.missing == 0 and self.extra == 0

    @property
    def f1(self) -> float:
        """Return the harmonic mean of precision and recall; 1 for two empty collections."""
        # Both empty is a perfect match, where the formula would divide by zero.
        return 1.0 if self.whole else 2 * self.shared / (2 * self.shared + self.missing + self.extra)


def overlap_of_sets(expected: Sequence[JsonValue], given: Sequence[JsonValue], *, tolerance: float) -> Overlap:
    """Return the overlap of two sets of scalars; repeated values count once."""
    wanted = [due(value) for value in distinct(expected)]
    cells = list(dict.fromkeys(cell_of(value) for value in given))
    shared = sum(any(want.matches(cell, tolerance=tolerance) for cell in cells) for want in wanted)
    extra = sum(not any(want.matches(cell, tolerance=tolerance) for want in wanted) for cell in cells)
    return Overlap(shared, len(wanted) - shared, extra)


def overlap_of_rows(
    expected: Sequence[Sequence[JsonValue]], given: Sequence[Sequence[JsonValue]], *, tolerance: float
) -> Overlap:
    """Return the overlap of two lists of rows, each row matched at most once, in any order."""
    left = [[cell_of(value) for value in row] for row in given]
    shared = 0
    for row in expected:
        wanted = [due(value) for value in row]
        # Each given row is used once, or a repeated right row would count as several.
        place = next((index for index, cells in enumerate(left) if _row_matches(wanted, cells, tolerance)), None)
        if place is not None:
            del left[place]
            shared += 1
    return Overlap(shared, len(expected) - shared, len(left))


def _row_matches(wanted: Sequence[Due], cells: Sequence[Cell], tolerance: float) -> bool:
    return all(want.matches(cell, tolerance=tolerance) for want, cell in zip(wanted, cells, strict=True))


def distinct(values: Sequence[JsonValue]) -> list[JsonValue]:
    """Return the scalars without repetitions, in order; texts that differ only in case or punctuation count as equal."""
    return list({due(value): value for value in reversed(values)}.values())[::-1]


def shown(value: JsonValue, *, limit: int = 160) -> str:
    """Return a value in a few words, for the detail of a reward."""
    # Cut before splitting: an agent's answer may have megabytes.
    head = text_of(value)[: 4 * limit]
    text = " ".join(head.split()).encode("utf-8", "replace").decode()
    return text if len(text) <= limit else text[: limit - 3] + "..."
