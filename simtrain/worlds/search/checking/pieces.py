"""The prose between the statements of a page, in pieces. Many pages share the same pieces, and each is judged once."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from simtrain.worlds.search.checking.reading import CALENDAR, SCALES

Span = tuple[int, int]

EDGE: Final = "§"
"""Stands for a statement beside words of prose."""

NUMERALS: Final = (
    frozenset(
        re.findall(
            r"\w+",
            "zero two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
            " twenty thirty forty fifty sixty seventy eighty ninety hundred hundreds thousands millions billions dozen dozens score"
            " half halves third thirds quarter quarters fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth"
            " fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth thirtieth fortieth fiftieth sixtieth seventieth"
            " eightieth ninetieth hundredth thousandth twice thrice double triple treble percent",
        )
    )
    | SCALES.keys()
)
"""Words that count, measure or order; without `one`, `first` and `second`, of which prose is full."""

DATING: Final = CALENDAR - {"may", "march", "mar", "jan", "sat", "sun"}
"""Words of dates, without those that have other common meanings."""
COUNTING: Final = NUMERALS | DATING

_NUMBER = re.compile(r"\d[\d.,:/-]*")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
# Two letters at least, since `I` is a word.
_ROMAN = re.compile(r"(?=[MDCLXVI]{2})M{0,3}(CM|CD|D?C{0,3})(XC|XL|L?X{0,3})(IX|IV|V?I{0,3})")
# One match over the whole piece, for the usual case: only pieces with other characters are looked at one by one.
_PLAIN = re.compile(r"[\n\t -~\u00a0-\u00ac\u00ae-\u00b1\u00b4-\u00b8\u00ba\u00bb\u00bf-\u024f–—‘’“”…•′″−]*")
_BEGINS = '.!?:;*|#>-–—("“\n'
_APART = re.compile(r"[\n|]")
_POWERS = "²³"


class Suspect(NamedTuple):
    """Words that are fine only if other pages have them too: a `name`, a `count` with its neighbours, or a `run` not the author's.

    `begins`: the word begins a sentence, where a capital means little.
    """

    place: int
    kind: str
    words: str
    begins: bool


@dataclass(frozen=True, slots=True)
class JudgedPiece:
    """The judgement of a piece: what is never allowed, by position; suspects; and its words in lower case."""

    wrong: tuple[tuple[int, str], ...]
    suspects: tuple[Suspect, ...]
    small: frozenset[str]


@dataclass(frozen=True)
class AuthorProse:
    """The author's prose, taken from the templates: its words, folded, and the pairs of neighbours.

    `before` holds the words that a rendered part may follow, `after` those that may follow it. As the part may be empty, each of the
    first may also meet each of the second. `first` holds those that may begin a line or a table cell.
    """

    words: frozenset[str] = frozenset()
    pairs: frozenset[tuple[str, str]] = frozenset()
    before: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    first: frozenset[str] = frozenset()

    def knows(self, one: str, other: str) -> bool:
        """Return True if these words can be neighbours in the author's prose."""
        if (one, other) in self.pairs:
            return True
        return (one == EDGE or one in self.before) and (other == EDGE or other in self.after)


NOTHING: Final = AuthorProse()


def pieces_of(body: str, stated: Sequence[Span], targets: Sequence[Span]) -> list[str]:
    """Return the prose of a page, split at statements, without link targets. The first piece begins with a line break."""
    parts, last = ["\n"], 0
    for start, end, between in sorted([*((*span, "\x00") for span in stated), *((*span, "") for span in targets)]):
        if start >= last:
            parts.append(body[last:start])
            parts.append(between)
        last = max(last, end)
    parts.append(body[last:])
    return "".join(parts).split("\x00")


def place_of(body: str, stated: Sequence[Span], targets: Sequence[Span], piece: int, offset: int) -> int:
    """Return the position in the body of an offset in a piece."""
    left = offset - (1 if piece == 0 else 0)
    last = 0
    for start, end, is_stated in sorted([*((*span, True) for span in stated), *((*span, False) for span in targets)]):
        if start >= last:
            if piece == 0 and left < start - last:
                return max(0, last + left)
            if is_stated:
                piece -= 1
            elif piece == 0:
                left -= start - last
        last = max(last, end)
    return min(len(body), max(0, last + left))


def judged(piece: str, wording: AuthorProse, *, last: bool = False) -> JudgedPiece:
    """Return the judgement of one piece of prose. No statement follows the `last` one of a page."""
    wrong = [(found.start(), f"the number {found[0]!r}") for found in _NUMBER.finditer(piece)]
    if _PLAIN.fullmatch(piece) is None:
        wrong += _strange(piece)
    words = list(_WORD.finditer(piece))
    suspects: list[Suspect] = []
    small: set[str] = set()
    for index, word in enumerate(words):
        text = bare(word[0])
        small_text = text.casefold()
        if {small_text, small_text.partition("-")[0]} & COUNTING or _ROMAN.fullmatch(text):
            suspects.append(Suspect(word.start(), "count", _around(words, index), begins=False))
        if text[0].islower():
            small.add(small_text)
            if text.islower():
                continue
        suspects.append(Suspect(word.start(), "name", text, _begins(piece, words, index)))
    if wording.pairs:
        suspects += _runs(piece, words, wording, last=last)
    return JudgedPiece(tuple(wrong), tuple(suspects), frozenset(small))


def bare(word: str) -> str:
    """Return a word without the possessive ending."""
    return word.removesuffix("'s").removesuffix("’s").rstrip("'’-") or word


def folded(word: str) -> str:
    """Return a word folded for comparison. `an` becomes `a`, since which is right depends on the next word."""
    plain = bare(word).casefold()
    return "a" if plain == "an" else plain


def _begins(piece: str, words: Sequence[re.Match[str]], index: int) -> bool:
    """Return True if a word begins a sentence and does not begin a name of several words."""
    before = piece[: words[index].start()].rstrip(" \t\u00a0")
    follower = words[index + 1] if index + 1 < len(words) else None
    pair = follower is not None and follower[0][0].isupper() and follower.start() == words[index].end() + 1
    return bool(before) and before[-1] in _BEGINS and not pair


def _around(words: Sequence[re.Match[str]], index: int) -> str:
    """Return a word with its neighbours."""
    found = [folded(word[0]) for word in words[max(0, index - 1) : index + 2]]
    return " ".join(found if index else [EDGE, *found])


def _runs(piece: str, words: Sequence[re.Match[str]], wording: AuthorProse, *, last: bool) -> Iterator[Suspect]:
    """Yield words that the author's prose does not have at that place."""
    place, one = 0, EDGE
    for word in words:
        other = folded(word[0])
        # Which line or cell comes next depends on the facts, so the pair says nothing.
        apart = _APART.search(piece, place, word.start()) is not None
        if not (other in wording.first or other in wording.after if apart else wording.knows(one, other)):
            yield Suspect(word.start(), "run", other if apart else f"{one} {other}", begins=False)
        place, one = word.end(), other
    if words and not last and _APART.search(piece, place) is None and not wording.knows(one, EDGE):
        yield Suspect(words[-1].start(), "run", f"{one} {EDGE}", begins=False)


def _strange(piece: str) -> Iterator[tuple[int, str]]:
    """Yield invisible characters, and characters that are numbers without being digits."""
    for place, letter in enumerate(piece):
        if unicodedata.category(letter) in ("Cf", "Cc", "Co", "Cn", "Zl", "Zp") and letter not in "\n\t":
            yield place, f"the sign U+{ord(letter):04X}"
        elif letter in _POWERS:
            if not (place and piece[place - 1].isalpha()):
                yield place, f"the number {letter!r}"
        elif unicodedata.category(letter) in ("No", "Nl"):
            yield place, f"the number {letter!r}"
