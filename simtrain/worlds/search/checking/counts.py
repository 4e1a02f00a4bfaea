"""Slips that no careful writer leaves on a page: `0 crew`, `1 ships`, `4 ship`, sentences that run together."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from simtrain.worlds.search.checking.blocks import Blocks

_COUNT = re.compile(r"(?<![\d.,:/–-])(?<!\d )(0|1|[2-9]|[1-9]\d{1,2}(?:,\d{3})*) ([a-z]+)(?: ([a-z]+))?(?: ([a-z]+))?")
_DIGIT = re.compile(r"\d")
_LABEL = re.compile(r"(?:- )?\*\*[^*]+:\*\*")
_ARE = re.compile(r"\b(are|were|have) 1 (?!(?:in|of|to|and|or)\b)(?:[a-z]+)")
_TOGETHER = re.compile(r"\S- (?=\*\*|\[|[A-Z]|\d)|(?<=[a-z]{2})[.!?](?=[A-Z][a-z])")
_PLURALS: Final = frozenset({"people", "men", "women", "children"})
# Words after a number that are no counted noun.
_STOPS: Final = frozenset(
    word
    for words in (
        "of in on at to by for from with without and or but as than that which who when where while if so not no per once",
        "is are was were has have had a an the its his her their this these it they yes thus always perhaps minus plus less times",
    )
    for word in words.split()
)
_ENOUGH: Final = 3


class Counts:
    """Numbers with their nouns, over all pages. Usage on other pages shows which form of a noun is the plural."""

    def __init__(self, units: Iterable[str]) -> None:
        self._units = frozenset(units)
        self._many: Counter[str] = Counter()
        self._single: list[tuple[int, int, str, str]] = []

    def read(self, page: int, blocks: Blocks) -> Iterator[tuple[int, str]]:
        """Yield the problems that one page alone shows."""
        for place, line in blocks.lines:
            # A line of a data sheet is a label and a value, and no sentence.
            if _DIGIT.search(line) is None or _LABEL.match(line):
                continue
            for match in _COUNT.finditer(line):
                words = [word for word in match.groups()[1:] if word]
                # Units do not always take a plural: 1 m, 4 m, 4 feet.
                if words[0] in self._units or words[0] in _STOPS:
                    continue
                yield from self._counted(page, place + match.start(), match[1], words)
            for match in _ARE.finditer(line):
                yield place + match.start(), f"{match[0]!r} counts one as many"

    def _counted(self, page: int, place: int, number: str, words: list[str]) -> Iterator[tuple[int, str]]:
        phrase = _phrase(words)
        noun = phrase[-1]
        shown = " ".join((number, *phrase))
        if number == "0":
            yield place, f"{shown!r} counts what is not there"
        elif number == "1":
            if _is_plural(noun) and noun not in self._units:
                yield place, f"{shown!r} counts one as many"
        else:
            self._many[words[0]] += 1
            if not _is_plural(words[0]):
                self._single.append((page, place, words[0], shown))

    def late(self) -> Iterator[tuple[int, int, str]]:
        """Yield singulars after numbers where the plural is usual, once all pages are read."""
        for page, place, word, shown in self._single:
            if self._many[f"{word}s"] >= _ENOUGH and self._many[f"{word}s"] > self._many[word]:
                yield page, place, f"{shown!r} counts many as one"


def _phrase(words: list[str]) -> list[str]:
    """Return the noun phrase at the beginning of some words."""
    found: list[str] = []
    for word in words:
        if word in _STOPS:
            break
        found.append(word)
        if _is_plural(word):
            break
    return found


def _is_plural(word: str) -> bool:
    return word in _PLURALS or (len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is", "ous")))


def run_together(body: str) -> Iterator[tuple[int, str]]:
    """Yield places where a line end or a space is missing between items or sentences."""
    for match in _TOGETHER.finditer(body):
        begin = body.rfind("\n", 0, match.start()) + 1
        # `find` gives -1 in the last line; the modulus makes that its end.
        line = body[begin : body.find("\n", match.start()) % (len(body) + 1)]
        if (
            match[0].endswith("- ")
            and not line.startswith(("- ", "**", "#"))
            and ":" not in line[: match.start() - begin + 2]
        ):
            continue
        yield match.start(), f"{body[max(begin, match.start() - 20) : match.end() + 20]!r} runs together"
