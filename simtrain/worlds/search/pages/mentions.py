"""What pages state, as a world file keeps it: one row for each thing that a page tells of, four characters for each statement."""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias

from simtrain.values.types import encode

STEP: Final = 64
"""The first of the two characters of a place counts steps of so many characters, the second counts on from there."""

PSEUDO: Final = -1
"""The type of what pages say of themselves and of their sites."""

Mention: TypeAlias = tuple[int, int, int, str, str | None]
"""A row of `_mentions`: page, type, entity, what is stated of it, and which of that follows a claim."""


class StatementRow(NamedTuple):
    """A row of the view `_statements`, but for its page."""

    type: int
    entity: int
    attribute: int
    start: int
    length: int
    claim: int | None


class _Places(dict[int, str]):
    def __missing__(self, start: int) -> str:
        # No character is 0, which would end the text for SQLite; those of the first 8,000 places take a byte each.
        self[start] = chr(start // STEP + 1) + chr(start % STEP + STEP)
        return self[start]


class _Lengths(dict[int, str]):
    def __missing__(self, length: int) -> str:
        self[length] = chr(length + 1)
        return self[length]


PLACES: Final = _Places()
"""The two characters of each place at which a statement may start."""
LENGTHS: Final = _Lengths()
"""The character of each length."""


def packed(attribute: int, start: int, length: int) -> str:
    """Return the four characters of a statement: its attribute, the two of its place, its length."""
    return f"{chr(attribute)}{PLACES[start]}{LENGTHS[length]}"


def kept(claims: Mapping[int, int] | None) -> str | None:
    """Return the claims of a mention by attribute, as JSON; null where all is true."""
    return encode({str(attribute): claim for attribute, claim in claims.items()}) if claims else None


def mentions(page: int, statements: Iterable[StatementRow]) -> list[Mention]:
    """Return the rows of a page that makes these statements."""
    stated: dict[tuple[int, int], str] = {}
    claims: dict[tuple[int, int], dict[int, int]] = {}
    for one in sorted(statements, key=lambda one: (one.type, one.entity, one.start, one.attribute)):
        thing = one.type, one.entity
        stated[thing] = stated.get(thing, "") + packed(one.attribute, one.start, one.length)
        if one.claim is not None:
            claims.setdefault(thing, {})[one.attribute] = one.claim
    return [(page, *thing, text, kept(claims.get(thing))) for thing, text in stated.items()]
