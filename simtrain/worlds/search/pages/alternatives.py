"""Alternatives in a template, `[by day|by night]`: nested, multiplied out where they are prose alone, spaces and capitals set right."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product, zip_longest
from typing import Final, TypeAlias

from simtrain.values.errors import InputError
from simtrain.worlds.search.pages.tree import Branch, Choice, LoopPart, Node, ProsePart, WordsPart, parts_of

Lists: TypeAlias = tuple[tuple[str, ...], ...]

MOST_PHRASES: Final = 400
"""Phrases that are multiplied out into one list; beyond that each of them is drawn for itself."""

_SIGN = re.compile(r"([\[\]|])")
_ENDED = re.compile(r"(?:[.!?][*\"”’)]*\s+|:\*\*\s+|\n\n)$")
_FIRST_WORD = re.compile(r"\S+")
_TAIL: Final = 6
"""Characters by which the end of a sentence is known."""
_MIDST: Final = "midst,"
"""Any text after which no sentence begins."""
_CLINGING: Final = tuple(",;:.!?)")


@dataclass(frozen=True, slots=True)
class Sign:
    """A bracket, or a bar between alternatives."""

    text: str


def pieces_of(text: str, depth: int) -> tuple[list[ProsePart | Sign], int]:
    """Return a text cut at its brackets, and within them at bars; and how many brackets are open behind it."""
    found: list[ProsePart | Sign] = []
    for part in _SIGN.split(text):
        if part == "|" and not depth:
            found.append(ProsePart(part))
        elif _SIGN.fullmatch(part):
            depth += {"[": 1, "]": -1, "|": 0}[part]
            found.append(Sign(part))
        elif part:
            found.append(ProsePart(part))
        if depth < 0:
            raise InputError("a ] closes nothing", remedy="alternatives stand in brackets: [by day|by night]")
    return found, depth


def nested(pieces: Sequence[Node | Sign]) -> tuple[Node, ...]:
    """Return the pieces with their alternatives as one node each. Raises InputError for a bracket that nothing closes."""
    return tuple(_joined(_nested(list(reversed(pieces)), inside=False)[0]))


def polished(nodes: Sequence[Node], before: frozenset[str] = frozenset(["\n\n"])) -> tuple[Node, ...]:
    """Return a tree in which a phrase that is left out takes a space along, and a sentence begins with a capital whatever phrase begins it.

    `before` are the texts that may precede the nodes; unless said otherwise, they begin a sentence.
    """
    found: list[Node] = []
    waiting = list(nodes)
    while waiting:
        node = waiting.pop(0)
        tails = _tails(found, before)
        if isinstance(node, WordsPart):
            if any("" in phrases for phrases in node.lists):
                node = _spaced(node, found, waiting, tails)
            if _ended(_tails(found, before)):
                node = _capitalised(node, waiting)
        elif isinstance(node, ProsePart):
            if _ended(tails):
                node = ProsePart(_capital(node.text))
        elif isinstance(node, Branch | LoopPart):
            # A tag on a line of its own begins one, as behind a heading.
            here = frozenset(["\n\n"]) if found and _ends_line(found[-1]) else tails
            node = replace(node, body=polished(node.body, here), otherwise=polished(node.otherwise, here))
        elif isinstance(node, Choice):
            node = Choice(tuple(polished(option, tails) for option in node.options))
        if not (isinstance(node, ProsePart) and not node.text):
            found.append(node)
    return tuple(found)


def _ended(tails: frozenset[str]) -> bool:
    """True if a sentence begins behind what ends in one of these ways."""
    return all(_ENDED.search(tail) is not None for tail in tails)


def _ends_line(node: Node) -> bool:
    return isinstance(node, ProsePart) and node.text.endswith("\n")


def _tails(nodes: Sequence[Node], before: frozenset[str]) -> frozenset[str]:
    """Return the possible last characters of some nodes that follow one of `before`."""
    if not nodes:
        return before
    last = nodes[-1]
    if isinstance(last, ProsePart):
        found = before if len(last.text) >= _TAIL else _tails(nodes[:-1], before)
        return frozenset((one + last.text)[-_TAIL:] for one in found)
    if isinstance(last, WordsPart):
        phrases = {one[-_TAIL:] for phrases in last.lists for one in phrases}
        found = before if all(len(one) == _TAIL for one in phrases) else _tails(nodes[:-1], before)
        return frozenset((one + phrase)[-_TAIL:] for one in found for phrase in phrases)
    if isinstance(last, Branch | Choice):
        found = _tails(nodes[:-1], before)
        return frozenset(tail for part in parts_of(last) for tail in _tails(part, found))
    return frozenset([_MIDST])


def _nested(waiting: list[Node | Sign], *, inside: bool) -> list[list[Node]]:
    """Return the alternatives up to the closing bracket; outside all brackets there is one."""
    options: list[list[Node]] = [[]]
    while waiting:
        piece = waiting.pop()
        if not isinstance(piece, Sign):
            options[-1].append(piece)
        elif piece.text == "[":
            options[-1].append(_choice(_nested(waiting, inside=True)))
        elif piece.text == "|":
            options.append([])
        else:
            return options
    if inside:
        raise InputError("a [ is never closed", remedy="alternatives stand in brackets: [by day|by night]")
    return options


def _choice(options: list[list[Node]]) -> Node:
    if len(options) == 1:
        raise InputError(
            "brackets hold alternatives", remedy="write them like [by day|by night], or [by night|] for a may-be"
        )
    found = [_phrases(option) for option in options]
    lists = [one for one in found if one is not None]
    if len(lists) == len(found):
        merged = _appended(lists)
        if max(map(len, merged)) <= MOST_PHRASES:
            return WordsPart(merged)
    return Choice(tuple(tuple(_joined(option)) for option in options))


def _phrases(nodes: Sequence[Node]) -> Lists | None:
    """Return all texts that some prose may become, by voice; None if it has facts, or for too many texts."""
    lists: Lists = (("",),)
    for node in nodes:
        own = ((node.text,),) if isinstance(node, ProsePart) else node.lists if isinstance(node, WordsPart) else None
        if own is None or len(lists[0]) * len(own[0]) > MOST_PHRASES:
            return None
        lists = multiplied(lists, own)
    return lists


def multiplied(one: Lists, other: Lists) -> Lists:
    """Return every phrase of the one before every phrase of the other, by voice."""
    return tuple(tuple(map("".join, product(*pair))) for pair in _paired(one, other))


def _appended(parts: Sequence[Lists]) -> Lists:
    found = parts[0]
    for other in parts[1:]:
        found = tuple((*first, *second) for first, second in _paired(found, other))
    return found


def _paired(one: Lists, other: Lists) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return the lists of both voice by voice; what has one list says the same in all."""
    return zip_longest(one, other, fillvalue=one[0] if len(one) < len(other) else other[0])


def _joined(nodes: Sequence[Node]) -> list[Node]:
    """Return texts that follow each other made one."""
    found: list[Node] = []
    for node in nodes:
        if isinstance(node, ProsePart) and found and isinstance(found[-1], ProsePart):
            found[-1] = ProsePart(found[-1].text + node.text)
        else:
            found.append(node)
    return found


def _spaced(node: WordsPart, before: list[Node], after: list[Node], tails: frozenset[str]) -> WordsPart:
    last, following = before[-1] if before else None, after[0] if after else None
    ends = last is None or all(tail[-1:].isspace() for tail in tails)
    if isinstance(following, ProsePart) and following.text.startswith(" ") and ends:
        after[0] = ProsePart(following.text[1:])
        if not after[0].text:
            after.pop(0)
        return replace(node, lists=tuple(tuple(one and f"{one} " for one in phrases) for phrases in node.lists))
    clings = following is None or (isinstance(following, ProsePart) and following.text.startswith(_CLINGING))
    if isinstance(last, ProsePart) and last.text.endswith(" ") and clings:
        before[-1] = ProsePart(last.text[:-1])
        spaced = (
            tuple(one if not one or one.startswith(_CLINGING) else f" {one}" for one in phrases)
            for phrases in node.lists
        )
        return replace(node, lists=tuple(spaced))
    return node


def _capitalised(node: WordsPart, after: list[Node]) -> WordsPart:
    """Return the phrases with capitals; where one is left out, what follows is drawn along with it and has the capital."""
    lists, each = node.lists, node.each
    while after and not all(one.strip() for phrases in lists for one in phrases):
        following = after[0]
        if isinstance(following, WordsPart) and _merge(lists, following):
            lists, each = multiplied(lists, following.lists), each * len(following.lists[0])
            after.pop(0)
            continue
        word = _FIRST_WORD.match(following.text) if isinstance(following, ProsePart) else None
        if word is not None and isinstance(following, ProsePart):
            lists = multiplied(lists, ((word[0],),))
            after[0] = ProsePart(following.text[word.end() :])
        elif isinstance(following, WordsPart | Branch | Choice) and each == 1:
            # What follows cannot have the capital, so that something is said before it.
            lists = tuple(tuple(filter(str.strip, phrases)) or phrases for phrases in lists)
        break
    return replace(node, lists=tuple(tuple(map(_capital, phrases)) for phrases in lists), each=each)


def _merge(lists: Lists, following: WordsPart) -> bool:
    """True if phrases can be drawn along with those that follow: they are not too many, and all voices have as many of them."""
    few = len(lists[0]) * len(following.lists[0]) <= MOST_PHRASES
    return few and not following.name and len({len(phrases) for phrases in following.lists}) == 1


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
