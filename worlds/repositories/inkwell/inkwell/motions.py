"""Where the cursor goes: each function takes a buffer and a place, and returns a place."""

from inkwell.buffer import Buffer
from inkwell.places import Place

PAIRS = {"(": ")", "[": "]", "{": "}"}


def left(buffer: Buffer, place: Place) -> Place:
    """Return the letter before, over the line break if need be."""
    if place.column > 0:
        return Place(place.row, place.column - 1)
    if place.row == 0:
        return place
    return Place(place.row - 1, len(buffer.line(place.row - 1)))


def right(buffer: Buffer, place: Place) -> Place:
    """Return the letter behind, over the line break if need be."""
    if place.column < len(buffer.line(place.row)):
        return Place(place.row, place.column + 1)
    if place.row == buffer.rows - 1:
        return place
    return Place(place.row + 1, 0)


def line_start(buffer: Buffer, place: Place) -> Place:
    """Return the first letter that is no space; from there the very start."""
    line = buffer.line(place.row)
    first = len(line) - len(line.lstrip())
    return Place(place.row, 0 if place.column == first else first)


def line_end(buffer: Buffer, place: Place) -> Place:
    """Return the place behind the last letter."""
    return Place(place.row, len(buffer.line(place.row)))


def text_start(buffer: Buffer, place: Place) -> Place:
    """Return the first place."""
    return Place(0, 0)


def text_end(buffer: Buffer, place: Place) -> Place:
    """Return the last place."""
    return buffer.end


def _kind(letter: str) -> str:
    if letter.isspace():
        return "space"
    return "word" if letter.isalnum() or letter == "_" else "sign"


def word_right(buffer: Buffer, place: Place) -> Place:
    """Return the start of the next word, or row of signs; lines end words."""
    line, column = buffer.line(place.row), place.column
    if column >= len(line):
        return _first_word(buffer, place.row + 1, place)
    kind = _kind(line[column])
    while column < len(line) and _kind(line[column]) == kind != "space":
        column += 1
    while column < len(line) and line[column].isspace():
        column += 1
    return Place(place.row, column)


def _first_word(buffer: Buffer, row: int, place: Place) -> Place:
    if row >= buffer.rows:
        return place
    line = buffer.line(row)
    return Place(row, len(line) - len(line.lstrip()))


def word_left(buffer: Buffer, place: Place) -> Place:
    """Return the start of this word, or of the one before."""
    line, column = buffer.line(place.row), place.column
    if column == 0:
        return left(buffer, place)
    while column > 0 and line[column - 1].isspace():
        column -= 1
    if column == 0:
        return Place(place.row, 0)
    kind = _kind(line[column - 1])
    while column > 0 and _kind(line[column - 1]) == kind:
        column -= 1
    return Place(place.row, column)


def paragraph_down(buffer: Buffer, place: Place) -> Place:
    """Return the next empty line behind lines that are not; else the last place."""
    row = place.row
    while row < buffer.rows and not buffer.line(row).strip():
        row += 1
    while row < buffer.rows and buffer.line(row).strip():
        row += 1
    return Place(row, 0) if row < buffer.rows else buffer.end


def paragraph_up(buffer: Buffer, place: Place) -> Place:
    """Return the empty line before the lines above; else the first place."""
    row = place.row - 1 if place.column == 0 else place.row
    while row > 0 and not buffer.line(row).strip():
        row -= 1
    while row >= 0 and buffer.line(row).strip():
        row -= 1
    return Place(max(row, 0), 0)


def matching(buffer: Buffer, place: Place) -> Place | None:
    """Return the bracket that belongs to the one here; None if there is none."""
    line = buffer.line(place.row)
    if place.column >= len(line):
        return None
    own = line[place.column]
    closers = {closer: opener for opener, closer in PAIRS.items()}
    if own in PAIRS:
        return _balanced(buffer, place, own, PAIRS[own], 1)
    if own in closers:
        return _balanced(buffer, place, own, closers[own], -1)
    return None


def _balanced(buffer: Buffer, place: Place, own: str, other: str, step: int) -> Place | None:
    depth, row, column = 0, place.row, place.column
    while 0 <= row < buffer.rows:
        line = buffer.line(row)
        while 0 <= column < len(line):
            depth += (line[column] == own) - (line[column] == other)
            if depth == 0:
                return Place(row, column)
            column += step
        row += step
        if 0 <= row < buffer.rows:
            column = 0 if step > 0 else len(buffer.line(row)) - 1
    return None


MOTIONS = {
    "left": left,
    "right": right,
    "line_start": line_start,
    "line_end": line_end,
    "text_start": text_start,
    "text_end": text_end,
    "word_left": word_left,
    "word_right": word_right,
    "paragraph_up": paragraph_up,
    "paragraph_down": paragraph_down,
}
