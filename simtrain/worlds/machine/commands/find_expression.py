"""The expression of find, parsed into one test."""

from dataclasses import dataclass, field

from simtrain.worlds.machine.commands.find_tests import (
    ACTIONS,
    PLAIN,
    VALUED,
    ExpressionError,
    Test,
    always,
    collected,
    executed,
    if_answered,
    regex_test,
)
from simtrain.worlds.machine.expressions import Syntax
from simtrain.worlds.machine.invocation import Invocation

MOST_NESTED = 100
"""Parentheses within each other, each of which is read by a call within that of the one around it."""
_SYNTAXES: dict[str, Syntax] = {
    **dict.fromkeys(("emacs", "findutils-default"), "emacs"),
    **dict.fromkeys(("ed", "grep", "posix-basic", "posix-minimal-basic", "sed"), "basic"),
}
"""Value of `-regextype` -> how expressions are written; the others are extended ones."""


@dataclass(slots=True)
class Expression:
    """A parsed expression: its test, and what it says about the walk as a whole."""

    test: Test = lambda search, found: True
    acts: bool = False
    deepest_first: bool = False
    least: int = 0
    most: int = 10_000
    words: list[str] = field(default_factory=list[str])
    call: Invocation | None = None
    syntax: Syntax = "emacs"
    depth: int = 0

    def parse(self) -> None:
        """Parse the words. Raises ExpressionError."""
        if self.words:
            self.test = self._either()
            if self.words:
                raise ExpressionError(
                    "find: invalid expression; you have used a binary operator with nothing before it."
                )

    def _either(self) -> Test:
        tests = [self._both()]
        while self.words and self.words[0] in ("-o", "-or"):
            self.words.pop(0)
            tests.append(self._both())
        return tests[0] if len(tests) == 1 else lambda search, found: any(test(search, found) for test in tests)

    def _both(self) -> Test:
        tests = [self._one()]
        while self.words and self.words[0] not in ("-o", "-or", ")"):
            if self.words[0] in ("-a", "-and"):
                self.words.pop(0)
            tests.append(self._one())
        return tests[0] if len(tests) == 1 else lambda search, found: all(test(search, found) for test in tests)

    def _one(self) -> Test:
        if not self.words:
            raise ExpressionError("find: invalid expression; expected to find a test after the operator.")
        word = self.words.pop(0)
        if word in ("!", "-not"):
            turned = True
            while self.words and self.words[0] in ("!", "-not"):
                self.words.pop(0)
                turned = not turned
            inner = self._one()
            return (lambda search, found: not inner(search, found)) if turned else inner
        if word == "(":
            self.depth += 1
            if self.depth > MOST_NESTED:
                raise ExpressionError("find: invalid expression; too many parentheses within each other")
            inner = self._either()
            self.depth -= 1
            if not self.words or self.words.pop(0) != ")":
                raise ExpressionError(
                    "find: invalid expression; I was expecting to find a ')' somewhere but did not see one."
                )
            return inner
        return self._primary(word)

    def _value(self, option: str) -> str:
        if not self.words:
            raise ExpressionError(f"find: missing argument to `{option}'")
        return self.words.pop(0)

    def _primary(self, word: str) -> Test:
        if word in ("-maxdepth", "-mindepth"):
            value = self._value(word)
            if not value.isdigit():
                raise ExpressionError(
                    f"find: Expected a positive decimal integer argument to {word}, but got '{value}'"
                )
            self.most, self.least = (int(value), self.least) if word == "-maxdepth" else (self.most, int(value))
            return always
        if word in PLAIN:
            self.deepest_first = self.deepest_first or word in ("-depth", "-delete")
            self.acts = self.acts or word in ACTIONS
            return PLAIN[word]
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            self.acts = True
            return self._exec(word)
        if word == "-regextype":
            self.syntax = _SYNTAXES.get(self._value(word), "extended")
            return always
        if word in ("-regex", "-iregex"):
            return regex_test(word, self._value(word), self.syntax)
        make = VALUED.get(word)
        if make is None:
            raise ExpressionError(f"find: unknown predicate `{word}'")
        self.acts = self.acts or word in ACTIONS
        assert self.call is not None
        return make(self.call, word, self._value(word))

    def _exec(self, option: str) -> Test:
        command: list[str] = []
        while self.words and self.words[0] != ";":
            word = self.words.pop(0)
            if word == "+" and command and command[-1] == "{}":
                return collected(command[:-1])
            command.append(word)
        if not self.words or not command:
            raise ExpressionError(f"find: missing argument to `{option}'")
        self.words.pop(0)
        run = executed(command, inside=option in ("-execdir", "-okdir"))
        return if_answered(command, run) if option in ("-ok", "-okdir") else run
