"""The words of a command line, with their places: enough of the shell's grammar to see where a line goes on, and what it calls.

Grammar: POSIX.1-2024, Shell Command Language, 2.3 "Token Recognition" and 2.7.4 "Here-Document".
"""

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

_OPERATOR = re.compile(r"&&|\|\||;;&?|;&|\|&|<<<|<<-?|<>|>>|>\||&>>?|[<>]&|[|&;()<>\n]")
_HEREDOC = ("<<", "<<-")
_REDIRECTIONS = frozenset(("<", ">", ">>", "<<", "<<-", "<<<", "<>", ">|", "&>", "&>>", "<&", ">&"))
_LEADING = frozenset(("if", "then", "else", "elif", "do", "while", "until", "!", "{", "time"))

Open: TypeAlias = Literal["", "quote", "heredoc", "escape", "operator", "bracket"]
"""What a text leaves open at its end."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word or an operator: its place, as it is written, and without its quotes."""

    start: int
    end: int
    raw: str
    value: str
    operator: bool = False


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a text, and what it leaves open."""

    words: tuple[Word, ...]
    open: Open


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """A simple command: its words without assignments and redirections. `piped` says that its output does not go to the terminal,
    `fed` that its input does not come from there."""

    words: tuple[Word, ...]
    piped: bool
    fed: bool


def words_of(text: str) -> Words:
    """Split a text into words and operators."""
    return _Reader(text).read()


def calls_of(words: tuple[Word, ...]) -> list[SimpleCommand]:
    """Return the simple commands among words, in their order."""
    found: list[SimpleCommand] = []
    own: list[Word] = []
    piped = fed = False
    redirects = False
    before = ""
    for word in (*words, Word(0, 0, "\n", "\n", operator=True)):
        if word.operator and word.raw in _REDIRECTIONS:
            # What goes to another place than the terminal; errors alone do not count.
            numbered = bool(own) and own[-1].raw == "2" and own[-1].end == word.start
            if own and own[-1].raw.isdigit() and own[-1].end == word.start:
                own.pop()
            if word.raw.startswith("<") and word.raw != "<&":
                fed = True
            elif not numbered:
                piped = True
            redirects = True
        elif word.operator:
            if own:
                pipes = word.raw in ("|", "|&")
                found.append(SimpleCommand(tuple(own), piped or pipes, fed or before in ("|", "|&")))
            own, piped, fed, redirects = [], False, False, False
            before = word.raw
        elif redirects:
            redirects = False
        elif not own and (word.raw in _LEADING or re.match(r"[A-Za-z_]\w*\+?=", word.raw)):
            continue
        else:
            own.append(word)
    return found


class _Reader:
    """One pass over a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.words: list[Word] = []
        self.awaited: list[tuple[str, bool]] = []
        self.open: Open = ""

    def read(self) -> Words:
        text = self.text
        while self.at < len(text) and not self.open:
            letter = text[self.at]
            if letter in " \t":
                self.at += 1
            elif letter == "#":
                self.at = text.find("\n", self.at) if "\n" in text[self.at :] else len(text)
            elif operator := _OPERATOR.match(text, self.at):
                self._operator(operator[0])
            else:
                self._word()
        if not self.open and self.awaited:
            self.open = "heredoc"
        if not self.open and self.words and self.words[-1].raw in ("&&", "||", "|", "|&"):
            self.open = "operator"
        return Words(tuple(self.words), self.open)

    def _operator(self, raw: str) -> None:
        start, self.at = self.at, self.at + len(raw)
        self.words.append(Word(start, self.at, raw, raw, operator=True))
        if raw == "\n" and self.awaited:
            self._bodies()

    def _bodies(self) -> None:
        """Skip the bodies of here-documents."""
        while self.awaited:
            delimiter, indented = self.awaited[0]
            while True:
                if self.at >= len(self.text):
                    self.open = "heredoc"
                    return
                end = self.text.find("\n", self.at)
                line = self.text[self.at : end if end >= 0 else len(self.text)]
                self.at += len(line) + 1
                if (line.lstrip("\t") if indented else line) == delimiter:
                    break
            self.awaited.pop(0)
        self.at = min(self.at, len(self.text))

    def _word(self) -> None:
        text, start = self.text, self.at
        value: list[str] = []
        while self.at < len(text) and not self.open:
            letter = text[self.at]
            if letter == "\\":
                self._escape(value)
            elif letter in "'\"`":
                self._quoted(letter, value)
            elif letter == "$" and text[self.at + 1 : self.at + 2] in ("(", "{", "'"):
                self._dollar(value)
            elif letter == "(" and text[self.at - 1 : self.at] == "=" and self.at > start:
                self._bracket("(", value)
            elif letter in " \t" or (letter in "|&;()<>\n"):
                break
            else:
                value.append(letter)
                self.at += 1
        word = Word(start, self.at, text[start : self.at], "".join(value))
        if self.words and self.words[-1].raw in _HEREDOC and not self.open:
            self.awaited.append((word.value, self.words[-1].raw == "<<-"))
        self.words.append(word)

    def _escape(self, value: list[str]) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        if not following or (following == "\n" and self.at + 2 >= len(self.text)):
            self.open = "escape"
        elif following != "\n":
            value.append(following)
        self.at = min(self.at + 2, len(self.text))

    def _quoted(self, mark: str, value: list[str]) -> None:
        end = self._end_of_quote(mark, self.at + 1)
        value.append(self.text[self.at + 1 : end])
        self.at = min(end + 1, len(self.text))

    def _end_of_quote(self, mark: str, at: int) -> int:
        """Return where a quote ends that began before `at`; the end of the text if it does not."""
        text = self.text
        while at < len(text):
            if text[at] == mark:
                return at
            if text[at] == "\\" and mark != "'":
                at += 1
            elif mark == '"' and text.startswith("$(", at):
                at = self._end_of_bracket("(", at + 2)
            at += 1
        self.open = "quote"
        return len(text)

    def _dollar(self, value: list[str]) -> None:
        following = self.text[self.at + 1]
        if following != "'":
            self.at += 1
            value.append("$")
            self._bracket(following, value)
            return
        end = self.at + 2
        while end < len(self.text) and self.text[end] != "'":
            end += 2 if self.text[end] == "\\" else 1
        if end >= len(self.text):
            self.open = "quote"
        value.append(self.text[self.at + 2 : end])
        self.at = min(end + 1, len(self.text))

    def _bracket(self, opening: str, value: list[str]) -> None:
        end = self._end_of_bracket(opening, self.at + 1)
        value.append(self.text[self.at : end + 1])
        self.at = min(end + 1, len(self.text))

    def _end_of_bracket(self, opening: str, at: int) -> int:
        text, closing, depth = self.text, {"(": ")", "{": "}"}[opening], 1
        while at < len(text):
            letter = text[at]
            if letter == "\\":
                at += 1
            elif letter in "'\"":
                at = self._end_of_quote(letter, at + 1)
            elif letter == opening:
                depth += 1
            elif letter == closing:
                depth -= 1
                if depth == 0:
                    return at
            at += 1
        self.open = self.open or "bracket"
        return len(text)
