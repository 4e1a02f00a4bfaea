"""Text to tokens."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from confit.errors import ConfitError

SIGNS = ("??", "{", "}", "[", "]", "(", ")", "=", ",", ".", "+", "-", "*", "/", "%")
ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "$": "$"}


@dataclass(frozen=True)
class Token:
    """A piece of text. `kind` is name, number, text, sign, newline or end."""

    kind: str
    text: str
    line: int
    column: int


class _Reader:
    def __init__(self, source: str, line: int, column: int) -> None:
        self.source = source
        self.at = 0
        self.line = line
        self.column = column

    def rest(self, text: str) -> bool:
        return self.source.startswith(text, self.at)

    def take(self, count: int = 1) -> str:
        taken = self.source[self.at : self.at + count]
        for letter in taken:
            if letter == "\n":
                self.line += 1
                self.column = 1
            else:
                self.column += 1
        self.at += count
        return taken

    def take_while(self, belongs) -> str:
        end = self.at
        while end < len(self.source) and belongs(self.source[end]):
            end += 1
        return self.take(end - self.at)

    @property
    def letter(self) -> str:
        return self.source[self.at : self.at + 1]


def tokens(source: str, line: int = 1, column: int = 1) -> list[Token]:
    """Return the tokens of a text, the last of kind `end`; newlines in brackets are left out."""
    reader = _Reader(source, line, column)
    found: list[Token] = []
    depth = 0
    for token in _read(reader):
        if token.kind == "sign":
            depth += (token.text in "[(") - (token.text in "])")
        if token.kind == "newline" and (depth > 0 or not found or found[-1].kind == "newline"):
            continue
        found.append(token)
    return found


def _read(reader: _Reader) -> Iterator[Token]:
    while reader.letter:
        line, column, letter = reader.line, reader.column, reader.letter
        if letter == "#":
            reader.take_while(lambda one: one != "\n")
        elif letter == "\n":
            yield Token("newline", reader.take(), line, column)
        elif letter.isspace():
            reader.take()
        elif letter == '"':
            yield Token("text", _text(reader), line, column)
        elif letter.isdigit():
            text = reader.take_while(lambda one: one.isalnum() or one in "_.")
            if reader.letter == "%":
                text += reader.take()
            yield Token("number", text, line, column)
        elif letter.isalpha() or letter == "_":
            text = reader.take_while(lambda one: one.isalnum() or one in "_-")
            yield Token("name", text, line, column)
        else:
            sign = next((sign for sign in SIGNS if reader.rest(sign)), None)
            if sign is None:
                raise ConfitError(f"{letter!r} belongs to nothing", line, column)
            yield Token("sign", reader.take(len(sign)), line, column)
    yield Token("end", "", reader.line, reader.column)


def _text(reader: _Reader) -> str:
    """Take a text with its quotes, as it is written; `unescaped` makes of it what it means."""
    line, column = reader.line, reader.column
    start, depth = reader.at, 0
    reader.take()
    while True:
        letter = reader.letter
        if letter == "" or letter == "\n":
            raise ConfitError("the text does not end on its line", line, column)
        if letter == "\\":
            reader.take(2)
        elif reader.rest("${"):
            depth += 1
            reader.take(2)
        elif letter == "}" and depth:
            depth -= 1
            reader.take()
        elif letter == '"' and not depth:
            reader.take()
            return reader.source[start : reader.at]
        else:
            reader.take()


def unescaped(text: str, line: int = 0, column: int = 0) -> str:
    """Return a text with its escapes carried out."""
    found, at = [], 0
    while at < len(text):
        letter = text[at]
        if letter != "\\":
            found.append(letter)
            at += 1
            continue
        following = text[at + 1 : at + 2]
        if following == "u":
            digits = text[at + 2 : at + 6]
            if not re.fullmatch(r"[0-9a-fA-F]{4}", digits):
                message = f"\\u{digits} is no character, four digits are expected"
                raise ConfitError(message, line, column)
            found.append(chr(int(digits, 16)))
            at += 6
        elif following in ESCAPES and following:
            found.append(ESCAPES[following])
            at += 2
        else:
            raise ConfitError(f"\\{following} is no escape", line, column)
    return "".join(found)
