"""Regular expressions that programs of a machine are given, as POSIX and GNU write them.

They are matched by RE2 (github.com/google/re2) in time that grows with the text alone: those of Python's own module can be written so that
they never end, which would stop every episode of the process.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Literal, TypeAlias, cast

import re2  # pyright: ignore[reportMissingTypeStubs]

Syntax: TypeAlias = Literal["basic", "extended", "emacs", "perl", "fixed"]

MOST_MEMORY = 1 << 20
"""Bytes that an expression may take: one with more states is refused."""
_BARE: dict[Syntax, str] = {"basic": "", "extended": "(){}|+?", "emacs": "+?"}
"""Which of the letters that are operators in one syntax or another are so without a backslash."""
_OPERATORS = frozenset(_BARE["extended"])
_REPEATS = frozenset("*+?{")
_INTERVAL = re.compile(r"(\d*)(,?)(\d*)")
_KEPT = {
    "w": r"[\p{L}\p{N}_]", "W": r"[^\p{L}\p{N}_]", "s": r"\s", "S": r"\S", "b": r"\b", "B": r"\B", "<": r"\b", ">": r"\b",
    "`": r"\A", "'": r"\z",
}  # fmt: skip
_CLASSES = {
    "alpha": r"\p{L}", "digit": "0-9", "alnum": r"\p{L}\p{N}", "upper": r"\p{Lu}", "lower": r"\p{Ll}", "space": r"\s\v",
    "blank": r" \t", "punct": r"!-/:-@\[-`{-~", "xdigit": "0-9A-Fa-f", "cntrl": r"\x00-\x1f\x7f", "print": r" -~\p{L}\p{N}",
    "graph": r"!-~\p{L}\p{N}",
}  # fmt: skip


class ExpressionProblem(ValueError):
    """A text that is no expression; its own text is what GNU's regcomp says of it."""


class RegularExpression:
    """An expression that was read. Texts are str, which may hold bytes that are no UTF-8, or bytes; places count in what was given."""

    __slots__ = ("_compiled",)

    def __init__(self, source: str, *, ignore_case: bool, longest: bool) -> None:
        """Take an expression in RE2's own syntax. Raises ExpressionProblem."""
        options = cast(Any, re2).Options()
        options.max_mem, options.log_errors, options.dot_nl = MOST_MEMORY, False, True
        options.longest_match, options.case_sensitive = longest, not ignore_case
        try:
            self._compiled: Any = cast(Any, re2).compile(_bytes(source), options)
        except cast(Any, re2).error as error:
            raise ExpressionProblem(_told(error)) from None

    @property
    def groups(self) -> int:
        """Return how many groups there are."""
        return self._compiled.groups

    def finds(self, text: str | bytes) -> bool:
        """True if a part of a text matches."""
        return self._compiled.search(_bytes(text)) is not None

    def fits(self, text: str | bytes) -> bool:
        """True if a whole text matches."""
        return self._compiled.fullmatch(_bytes(text)) is not None

    def begins(self, text: str) -> tuple[str, ...] | None:
        """Return what matches at the beginning of a text, then what its groups hold; None if nothing matches there."""
        found = self._compiled.match(_bytes(text))
        if found is None:
            return None
        return tuple(_text(part or b"") for part in (found.group(), *found.groups()))

    def replaced(self, text: str, put: Callable[[Sequence[str]], str], *, first: int = 1, every: bool = False) -> str:
        """Return a text with something else in the place of the match of number `first`, or of `every` one from there on.

        `put` gets what matched, and what its groups hold.
        """
        raw = _bytes(text)
        kept, at = list[bytes](), 0
        for number, found in enumerate(self._compiled.finditer(raw), 1):
            if number >= first:
                groups = [_text(part or b"") for part in (found.group(), *found.groups())]
                kept += [raw[at : found.start()], _bytes(put(groups))]
                at = found.end()
                if not every:
                    break
        return _text(b"".join([*kept, raw[at:]]))

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where each part begins and ends that matches."""
        raw = _bytes(text)
        for found in self._compiled.finditer(raw):
            start = len(_text(raw[: found.start()]))
            yield start, start + len(_text(found.group()))


@lru_cache(maxsize=64)
def expression(
    *texts: str, syntax: Syntax = "basic", ignore_case: bool = False, words: bool = False
) -> RegularExpression:
    """Read one expression, or several of which any may match; `words` says that what matches must be whole words.

    Raises ExpressionProblem.
    """
    if syntax == "fixed":
        sources = [re.escape(text) for text in texts]
    else:
        sources = [text if syntax == "perl" else _Reading(text, syntax).source() for text in texts]
    source = sources[0] if len(sources) == 1 else "|".join(f"(?:{one})" for one in sources)
    return RegularExpression(
        rf"\b(?:{source})\b" if words else source, ignore_case=ignore_case, longest=syntax != "perl"
    )


class _Reading:
    """A POSIX expression on its way to RE2's syntax."""

    def __init__(self, text: str, syntax: Syntax) -> None:
        self._text = text
        self._bare = _BARE[syntax]
        self._at = 0
        self._out: list[str] = []
        self._opened: list[int] = []
        # Where in the output the last thing begins that may be repeated.
        self._atom: int | None = None
        self._repeated = False

    def source(self) -> str:
        while self._at < len(self._text):
            self._read(self._text[self._at])
        if self._opened:
            raise ExpressionProblem(r"Unmatched ( or \(")
        return "".join(self._out)

    def _read(self, letter: str) -> None:
        self._at += 1
        escaped = letter == "\\"
        if escaped:
            if self._at == len(self._text):
                raise ExpressionProblem("Trailing backslash")
            letter = self._text[self._at]
            self._at += 1
        if letter == "*" and not escaped:
            self._repeat("*")
        elif letter in _OPERATORS:
            if escaped == (letter in self._bare):
                self._literal(letter)
            else:
                self._operate(letter)
        elif not escaped:
            self._plain(letter)
        elif letter in _KEPT:
            self._put(_KEPT[letter])
        elif letter in "123456789":
            raise ExpressionProblem("Invalid back reference")
        else:
            self._literal(letter)

    def _plain(self, letter: str) -> None:
        if letter == "[":
            self._put(self._bracket())
        elif letter == ".":
            self._put(".")
        elif (letter == "^" and (self._bare == _BARE["extended"] or self._begins())) or (
            letter == "$" and (self._bare == _BARE["extended"] or self._ends())
        ):
            self._put("^" if letter == "^" else r"\z")
            self._atom = None
        else:
            self._literal(letter)

    def _begins(self) -> bool:
        return not self._out or self._out[-1] in ("(", "|")

    def _ends(self) -> bool:
        rest = self._text[self._at :]
        return not rest or rest.startswith((r"\)", r"\|"))

    def _operate(self, letter: str) -> None:
        if letter in "+?":
            self._repeat(letter)
        elif letter == "{":
            self._interval()
        elif letter == "(":
            self._opened.append(len(self._out))
            self._out.append("(")
            self._atom = None
        elif letter == "|":
            self._out.append("|")
            self._atom = None
        elif letter == "}":
            self._literal(letter)
        elif not self._opened:
            if ")" not in self._bare:
                raise ExpressionProblem(r"Unmatched ) or \)")
            self._literal(letter)
        else:
            self._atom, self._repeated = self._opened.pop(), False
            self._out.append(")")

    def _interval(self) -> None:
        if self._atom is None and "{" not in self._bare:
            self._literal("{")
            return
        end = "}" if "{" in self._bare else r"\}"
        closes = self._text.find(end, self._at)
        found = _INTERVAL.fullmatch(self._text, self._at, closes) if closes >= 0 else None
        if found is None or not (found[1] or found[2]):
            if "{" in self._bare:
                self._literal("{")
                return
            raise ExpressionProblem(r"Unmatched \{" if closes < 0 else r"Invalid content of \{\}")
        self._at = closes + len(end)
        if found[3] and int(found[3]) < int(found[1] or 0):
            raise ExpressionProblem(r"Invalid content of \{\}")
        self._repeat(f"{{{found[1] or 0}{found[2]}{found[3]}}}")

    def _repeat(self, how: str) -> None:
        if self._atom is None:
            # With nothing to repeat, it stands for itself, or for nothing.
            if "(" not in self._bare:
                self._literal(how)
            return
        if self._repeated:
            self._out[self._atom :] = ["(?:", *self._out[self._atom :], ")"]
        self._out.append(how)
        self._repeated = True

    def _literal(self, letter: str) -> None:
        self._put(re.escape(letter))

    def _put(self, piece: str) -> None:
        self._atom, self._repeated = len(self._out), False
        self._out.append(piece)

    def _bracket(self) -> str:
        text, at = self._text, self._at
        if at == len(text):
            raise ExpressionProblem("Invalid regular expression")
        negated = text.startswith("^", at)
        at += negated
        found = ""
        first = True
        while at < len(text) and (first or text[at] != "]"):
            first = False
            if text.startswith("[:", at):
                end = text.find(":]", at)
                name = text[at + 2 : end] if end >= 0 else ""
                if name not in _CLASSES:
                    raise ExpressionProblem("Invalid character class name")
                found, at = found + _CLASSES[name], end + 2
                continue
            if text.startswith(("[.", "[="), at) and text[at + 3 : at + 5] == f"{text[at + 1]}]":
                found, at = found + re.escape(text[at + 2]), at + 5
                continue
            found += text[at] if text[at] == "-" else re.escape(text[at])
            at += 1
        if at >= len(text):
            raise ExpressionProblem("Unmatched [, [^, [:, [., or [=")
        self._at = at + 1
        return f"[{'^' if negated else ''}{found}]"


def _bytes(text: str | bytes) -> bytes:
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _told(error: Exception) -> str:
    text = str(error.args[0] if error.args else error)
    text = text.strip("b'\"") if text.startswith("b'") else text
    if "range" in text:
        return "Invalid range end"
    return (
        "Regular expression too big" if "large" in text or "repetition size" in text else "Invalid regular expression"
    )
