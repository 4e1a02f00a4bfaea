"""One name against one part of a glob pattern: `*`, `?`, `[a-z]`, `@(a|b)` and the like.

The positions in a name that a pattern can have reached are the bits of one number. Following all ways at once keeps the time
polynomial; backtracking, as in a regular expression, would let an agent's `+(a|aa)b` hang the simulator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from simtrain.worlds.handlers.filesystem.glob_classes import Character, read_class

GROUPS: Final = "!?+*@"


@dataclass(frozen=True, slots=True)
class Group:
    """`@(a|b)`, `?(a|b)`, `+(a|b)`, `*(a|b)` or `!(a|b)`; `kind` is the character in front."""

    kind: str
    choices: tuple[Items, ...]


@dataclass(frozen=True, slots=True)
class GlobRun:
    """`*`: any number of characters."""


Item: TypeAlias = Character | Group | GlobRun
Items: TypeAlias = tuple[Item, ...]

_RUN = GlobRun()


def _any(character: str) -> bool:
    return True


def read_items(text: str) -> Items:
    """Return the items of a part of a pattern."""
    items, _ = _read(text, 0, inside=False)
    return items


def _read(text: str, position: int, *, inside: bool) -> tuple[Items, int]:
    """Return items up to the end of the text, or up to a `|` or `)` inside a group, and the position after them."""
    items: list[Item] = []
    while position < len(text):
        character = text[position]
        if inside and character in "|)":
            break
        if character == "\\" and position + 1 < len(text):
            items.append(_exactly(text[position + 1]))
            position += 2
            continue
        if character in GROUPS and text[position + 1 : position + 2] == "(":
            group, behind = _group(text, position)
            if group is not None:
                items.append(group)
                position = behind
                continue
        if character == "[":
            found = read_class(text, position)
            if found is not None:
                items.append(found[0])
                position = found[1]
                continue
        items.append(_RUN if character == "*" else _any if character == "?" else _exactly(character))
        position += 1
    return tuple(items), position


def _group(text: str, position: int) -> tuple[Group | None, int]:
    """Return the group that begins here, and the position after it; None for one that is never closed."""
    kind, choices, behind = text[position], list[Items](), position + 1
    while True:
        items, behind = _read(text, behind + 1, inside=True)
        choices.append(items)
        if behind >= len(text):
            return None, position
        if text[behind] == ")":
            return Group(kind, tuple(choices)), behind + 1


def _exactly(wanted: str) -> Character:
    return lambda character: character == wanted


def fits_name(items: Items, name: str) -> bool:
    """True if a whole name fits the items."""
    return bool(_Matching(name).after(items, 1, ()) >> len(name) & 1)


class _Matching:
    """Matches items against a name. A place is a bit; the lowest is before the first character."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._all = (1 << len(name) + 1) - 1

    def after(self, items: Items, places: int, tail: Items) -> int:
        """Return the places reached from `places` through all items. `tail` are the items after them, which `!(...)` looks ahead to."""
        for index, item in enumerate(items):
            if not places:
                break
            if isinstance(item, GlobRun):
                # Every place from the first reached one on.
                places = self._all & -(places & -places)
            elif isinstance(item, Group):
                places = self._behind(item, places, items[index + 1 :] + tail)
            else:
                places = self._step(item, places)
        return places

    def _step(self, item: Callable[[str], bool], places: int) -> int:
        return sum(1 << at + 1 for at, found in enumerate(self._name) if places >> at & 1 and item(found))

    def _behind(self, group: Group, places: int, tail: Items) -> int:
        if group.kind == "!":
            return self._unlike(group, places, tail)
        reached = self._through(group, places, tail)
        if group.kind in "*+":
            # Bits are only ever added, so this ends after at most one turn for each character.
            while (further := reached | self._through(group, reached, tail)) != reached:
                reached = further
        return reached | places if group.kind in "*?" else reached

    def _through(self, group: Group, places: int, tail: Items) -> int:
        reached = 0
        for choice in group.choices:
            reached |= self.after(choice, places, tail)
        return reached

    def _unlike(self, group: Group, places: int, tail: Items) -> int:
        """Return the places after any text, from starts where no choice with the tail fits the rest (a negative lookahead)."""
        reached = 0
        for at in range(len(self._name) + 1):
            if (
                places >> at & 1
                and not self.after(tail, self._through(group, 1 << at, tail), ()) >> len(self._name) & 1
            ):
                reached |= self._all & -(1 << at)
        return reached
