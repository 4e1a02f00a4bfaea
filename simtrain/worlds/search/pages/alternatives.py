"""Alternatives in a template, `[by day|by night]`: parsed, multiplied out if they are pure prose, with spaces and capitals adjusted."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product, zip_longest
from typing import Final, TypeAlias

from simtrain.values.errors import InputError
from simtrain.worlds.search.pages.tree import Branch, Choice, LoopPart, Node, ProsePart, WordsPart, parts_of

Lists: TypeAlias = tuple[tuple[str, ...], ...]

MOST_PHRASES: Final = 400
"""Most phrases that are multiplied out into one list; beyond that each alternative is drawn by itself."""

_SIGN = re.compile(r"([\[\]|])")
_ENDED = re.compile(r"(?:[.!?][*\"”’)]*\s+|:\*\*\s+|\n\n)$")
_FIRST_WORD = re.compile(r"\S+")
_TAIL: Final = 6
"""Characters that suffice to recognise the end of a sentence."""
_MIDST: Final = "midst,"
"""A sample text after which no sentence begins."""
_CLINGING: Final = tuple(",;:.!?)")


@dataclass(frozen=True, slots=True)
class Sign:
    """A bracket, or the bar between alternatives."""

    text: str


def pieces_of(text: str, depth: int) -> tuple[list[ProsePart | Sign], int]:
    """Return a text split at brackets, and at bars inside them, with the number of brackets still open after it."""
    found: list[ProsePart | Sign] = []
    for part in _SIGN.split(text):
        # Outside of brackets a bar is text: it separates the cells of Markdown tables.
        if part == "|" and not depth:
            found.append(ProsePart(part))
        elif _SIGN.fullmatch(part):
            depth += {"[": 1, "]": -1, "|": 0}[part]
            found.append(Sign(part))
        elif part:
            found.append(ProsePart(part))
        if depth < 0:
            raise InputError("a ] without a [", remedy="write alternatives in brackets: [by day|by night]")
    return found, depth


def nested(pieces: Sequence[Node | Sign]) -> tuple[Node, ...]:
    """Return the pieces with alternatives as one node each. Raises InputError for a bracket that is never closed."""
    return tuple(_joined(_nested(list(reversed(pieces)), inside=False)[0]))


def polished(nodes: Sequence[Node], before: frozenset[str] = frozenset(["\n\n"])) -> tuple[Node, ...]:
    """Return a tree in which every drawn phrase reads right: no double space around an empty one, a capital at the start of a sentence.

    `before` holds the texts that may precede the nodes; by default a sentence begins there.
    """
    found: list[Node] = []
    waiting = list(nodes)
    while waiting:
        node = waiting.pop(0)
        # All possible endings so far: which phrase is drawn is known only when a page is written.
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
            # After a tag on a line of its own a sentence begins, as after a heading.
            here = frozenset(["\n\n"]) if found and _ends_line(found[-1]) else tails
            node = replace(node, body=polished(node.body, here), otherwise=polished(node.otherwise, here))
        elif isinstance(node, Choice):
            node = Choice(tuple(polished(option, tails) for option in node.options))
        if not (isinstance(node, ProsePart) and not node.text):
            found.append(node)
    return tuple(found)


def _ended(tails: frozenset[str]) -> bool:
    """Return True if a sentence begins after any of these endings."""
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
    """Return the alternatives up to the closing bracket; outside all brackets there is only one."""
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
        raise InputError("a [ is never closed", remedy="write alternatives in brackets: [by day|by night]")
    return options


def _choice(options: list[list[Node]]) -> Node:
    if len(options) == 1:
        raise InputError(
            "brackets need alternatives", remedy="write [by day|by night], or [by night|] for an optional phrase"
        )
    found = [_phrases(option) for option in options]
    lists = [one for one in found if one is not None]
    if len(lists) == len(found):
        merged = _appended(lists)
        if max(map(len, merged)) <= MOST_PHRASES:
            return WordsPart(merged)
    return Choice(tuple(tuple(_joined(option)) for option in options))


def _phrases(nodes: Sequence[Node]) -> Lists | None:
    """Return all texts that some nodes may become, by voice; None if they hold facts or the texts are too many."""
    lists: Lists = (("",),)
    for node in nodes:
        own = ((node.text,),) if isinstance(node, ProsePart) else node.lists if isinstance(node, WordsPart) else None
        if own is None or len(lists[0]) * len(own[0]) > MOST_PHRASES:
            return None
        lists = multiplied(lists, own)
    return lists


def multiplied(one: Lists, other: Lists) -> Lists:
    """Return every phrase of one list followed by every phrase of the other, by voice."""
    return tuple(tuple(map("".join, product(*pair))) for pair in _paired(one, other))


def _appended(parts: Sequence[Lists]) -> Lists:
    found = parts[0]
    for other in parts[1:]:
        found = tuple((*first, *second) for first, second in _paired(found, other))
    return found


def _paired(one: Lists, other: Lists) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield the lists of both, voice by voice. A single list serves all voices."""
    return zip_longest(one, other, fillvalue=one[0] if len(one) < len(other) else other[0])


def _joined(nodes: Sequence[Node]) -> list[Node]:
    """Return the nodes with adjacent prose merged."""
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
    """Return the phrases with capitals. If one may be empty, the next words are drawn along with it and get the capital."""
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
            # The next node cannot take the capital here, so the empty phrase is dropped from the list.
            lists = tuple(tuple(filter(str.strip, phrases)) or phrases for phrases in lists)
        break
    return replace(node, lists=tuple(tuple(map(_capital, phrases)) for phrases in lists), each=each)


def _merge(lists: Lists, following: WordsPart) -> bool:
    """Return True if phrases can be drawn along with the next ones: not too many, and equally many in all voices."""
    few = len(lists[0]) * len(following.lists[0]) <= MOST_PHRASES
    return few and not following.name and len({len(phrases) for phrases in following.lists}) == 1


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
