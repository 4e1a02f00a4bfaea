"""The words of a bc program, one after the other, from all its files; and what is said of those that do not fit."""

import re
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

NextFile: TypeAlias = Callable[[], tuple[str, str] | None]
"""Returns the name and text of the next file of a program; None after the last."""

KEYWORDS = frozenset(
    {
        "auto", "break", "continue", "define", "else", "for", "halt", "ibase", "if", "last", "length", "limits", "obase", "print", "quit",
        "read", "return", "scale", "sqrt", "void", "warranty", "while",
    }
)  # fmt: skip
_MOST_ERRORS = 10_000
_WORD = re.compile(
    r"""(?P<space>(?:[ \t]|\\\n)+|\#[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)"""
    r"""|(?P<newline>\n)|(?P<string>"[^"]*")"""
    r"""|(?P<number>[0-9A-Z](?:[0-9A-Z]|\\\n)*(?:\.(?:[0-9A-Z]|\\\n)*)?|\.(?:\\\n)*[0-9A-Z](?:[0-9A-Z]|\\\n)*)"""
    r"""|(?P<name>[a-z][a-z0-9_]*)"""
    r"""|(?P<sign>\+\+|--|[-+*/%^=!<>]=|&&?|\|\||/(?!\*)|[-+*%^=!<>(){}\[\],;.])"""
)


class BcSyntaxError(Exception):
    """Says that the next word of a program cannot stand where it is."""


class BcTooDeep(Exception):
    """Says that a program is nested too deeply to be read, or has too many faults."""


class BcWord(NamedTuple):
    """A word of a program. Its kind is `number`, `name`, `string`, `sign`, `newline` or `end`; keywords are signs."""

    kind: str
    text: str


class BcWords:
    """The words of a program. `strict` refuses what POSIX does not have, `warned` says so."""

    def __init__(self, next_file: NextFile, *, strict: bool = False, warned: bool = False) -> None:
        """Begin with the first file."""
        self._next_file = next_file
        self._file, self._text = "(standard_in)", ""
        self._place = 0
        self._line = 1
        self._ahead: list[BcWord] = []
        self._ended = False
        self._strict, self._warned = strict, warned
        self.failed = False
        self.errors: list[str] = []
        self.taken = 0

    def peek(self, distance: int = 0) -> BcWord:
        """Return a word to come."""
        while len(self._ahead) <= distance:
            self._ahead.append(self._read())
        return self._ahead[distance]

    def take(self) -> BcWord:
        """Return the next word, and go on behind it."""
        word = self.peek()
        if word.kind != "end":
            self._ahead.pop(0)
            self.taken += 1
        return word

    def sees(self, *texts: str) -> bool:
        """Return whether one of some signs or keywords comes next."""
        word = self.peek()
        return word.kind == "sign" and word.text in texts

    def accept(self, *texts: str) -> bool:
        """Go on behind one of some signs if it comes next, and return whether it did."""
        found = self.sees(*texts)
        if found:
            self.take()
        return found

    def accept_newline(self) -> bool:
        """Go on behind the end of a line if it comes next, and return whether it did."""
        found = self.peek().kind == "newline"
        if found:
            self.take()
        return found

    def expect(self, text: str) -> None:
        """Go on behind a sign. Raises BcSyntaxError where another word comes."""
        if not self.accept(text):
            raise BcSyntaxError

    def expect_name(self) -> str:
        """Return the name that comes next. Raises BcSyntaxError where another word comes."""
        if self.peek().kind != "name":
            raise BcSyntaxError
        return self.take().text

    def report(self, text: str) -> None:
        """Print what is wrong with a program: what is being read is not carried out."""
        self.failed = True
        self._say(text)

    def told(self, text: str) -> str:
        """Return a text as it is said of the line that is being read."""
        return f"{self._file} {self._line}: {text}\n"

    def warn(self, text: str) -> None:
        """Print that something is not of POSIX, where that is asked for."""
        if self._strict:
            self.report(f"Error: {text}")
        elif self._warned:
            self._say(f"(Warning) {text}")

    def _say(self, text: str) -> None:
        if len(self.errors) > _MOST_ERRORS:
            raise BcTooDeep
        self.errors.append(self.told(text))

    def _read(self) -> BcWord:
        while not self._ended:
            if self._place >= len(self._text):
                self._open()
                continue
            found = _WORD.match(self._text, self._place)
            if found is None:
                self._skip()
                continue
            self._place = found.end()
            self._line += found[0].count("\n")
            kind = found.lastgroup or ""
            if kind != "space":
                return self._word(kind, found[0])
        return BcWord("end", "")

    def _open(self) -> None:
        opened = self._next_file()
        self._line = 1
        if opened is None:
            self._ended = True
        else:
            self._file, self._text = opened
            self._place = 0

    def _skip(self) -> None:
        letter = self._text[self._place]
        if self._text.startswith("/*", self._place):
            self.errors.append("EOF encountered in a comment.\n")
            self._place = len(self._text)
            return
        self._place += 1
        for byte in letter.encode("utf-8", "surrogateescape"):
            shown = f"^{chr(byte + 64)}" if byte < 32 else f"\\{byte:03o}" if byte > 126 else chr(byte)
            self.report(f"illegal character: {shown}")

    def _word(self, kind: str, text: str) -> BcWord:
        if kind == "number":
            return BcWord(kind, text.replace("\\\n", "").lstrip("0") or "0")
        if kind == "string":
            return BcWord(kind, text[1:-1])
        if kind == "name" and text in KEYWORDS:
            return BcWord("sign", text)
        if kind == "name" and len(text) > 1:
            self.warn(f"multiple letter name - {text}")
        return BcWord(kind, text)
