"""Statements of pages as a world file stores them: one row for each thing on a page, four characters for each statement."""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias

from simtrain.values.types import encode

STEP: Final = 64
"""A position takes two characters: the first counts steps of this many characters, the second the rest."""

PSEUDO: Final = -1
"""The type for statements of pages about themselves and their sites."""

Mention: TypeAlias = tuple[int, int, int, str, str | None]
"""A row of `_mentions`: page, type, entity, packed statements about it, and the claims behind them."""


class StatementRow(NamedTuple):
    """A row of the view `_statements`, without its page."""

    type: int
    entity: int
    attribute: int
    start: int
    length: int
    claim: int | None


class _Places(dict[int, str]):
    def __missing__(self, start: int) -> str:
        # No character is 0, which would end the text for SQLite. For the first 8,000 positions each takes one byte in UTF-8.
        self[start] = chr(start // STEP + 1) + chr(start % STEP + STEP)
        return self[start]


class _Lengths(dict[int, str]):
    def __missing__(self, length: int) -> str:
        self[length] = chr(length + 1)
        return self[length]


PLACES: Final = _Places()
"""Position -> its two characters."""
LENGTHS: Final = _Lengths()
"""Length -> its character."""


def packed(attribute: int, start: int, length: int) -> str:
    """Return the four characters of a statement: attribute, position (two), length."""
    return f"{chr(attribute)}{PLACES[start]}{LENGTHS[length]}"


def kept(claims: Mapping[int, int] | None) -> str | None:
    """Return the claims of a mention by attribute, as JSON; None if all is true."""
    return encode({str(attribute): claim for attribute, claim in claims.items()}) if claims else None


def mentions(page: int, statements: Iterable[StatementRow]) -> list[Mention]:
    """Return the rows of `_mentions` for a page with these statements."""
    stated: dict[tuple[int, int], str] = {}
    claims: dict[tuple[int, int], dict[int, int]] = {}
    for one in sorted(statements, key=lambda one: (one.type, one.entity, one.start, one.attribute)):
        thing = one.type, one.entity
        stated[thing] = stated.get(thing, "") + packed(one.attribute, one.start, one.length)
        if one.claim is not None:
            claims.setdefault(thing, {})[one.attribute] = one.claim
    return [(page, *thing, text, kept(claims.get(thing))) for thing, text in stated.items()]
