"""expr: one expression of numbers and words, evaluated from the left, as GNU coreutils does it."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from simtrain.worlds.machine.commands.options import usage
from simtrain.worlds.machine.commands.usages import help_text
from simtrain.worlds.machine.expressions import ExpressionProblem, expression
from simtrain.worlds.machine.invocation import Invocation, Result

MOST_NESTED = 200
"""Parentheses within each other, each of which is read by a call within that of the one around it."""
_LONGEST = 1000
"""Digits of a number."""
_NUMBER = re.compile(r"-?[0-9]+")
_COMPARED: dict[str, Callable[[bool, bool], bool]] = {
    "<": lambda less, same: less, "<=": lambda less, same: less or same, "=": lambda less, same: same, "==": lambda less, same: same,
    "!=": lambda less, same: not same, ">=": lambda less, same: not less, ">": lambda less, same: not less and not same,
}  # fmt: skip


class _ExprRefused(Exception):
    """Raised for what expr refuses."""


def expr(call: Invocation) -> Result:
    """Print the value of an expression; the exit code is 1 where it is 0 or empty, 2 where it is no expression."""
    words = list(call.arguments)
    if words == ["--help"]:
        return Result(help_text("expr") or "")
    if words[:1] == ["--"]:
        words.pop(0)
    if not words:
        return usage(call, "missing operand", code=2)
    reading = _Reading(words)
    try:
        value = reading.either(True)
        if reading.words:
            raise _ExprRefused(f"syntax error: unexpected argument '{reading.words[0]}'")
    except _ExprRefused as error:
        return call.fail(str(error), exit_code=2)
    return Result(f"{value}\n", exit_code=0 if _holds(value) else 1)


def _holds(value: str) -> bool:
    return value.lstrip("-").strip("0") != "" and value != ""


@dataclass(slots=True)
class _Reading:
    """An expression being read. What is skipped by `|` and `&` is read and not counted: `counts` is False there."""

    words: list[str]
    depth: int = 0
    last: str = ""

    def _take(self, *operators: str) -> str:
        if self.words and self.words[0] in operators:
            self.last = self.words.pop(0)
            return self.last
        return ""

    def either(self, counts: bool) -> str:
        left = self._both(counts)
        while self._take("|"):
            right = self._both(counts and not _holds(left))
            if not _holds(left):
                left = right if _holds(right) else "0"
        return left

    def _both(self, counts: bool) -> str:
        left = self._compared(counts)
        while self._take("&"):
            right = self._compared(counts and _holds(left))
            left = left if _holds(left) and _holds(right) else "0"
        return left

    def _compared(self, counts: bool) -> str:
        left = self._sum(counts)
        while operator := self._take(*_COMPARED):
            right = self._sum(counts)
            if _NUMBER.fullmatch(left) and _NUMBER.fullmatch(right):
                less, same = _number(left) < _number(right), _number(left) == _number(right)
            else:
                less, same = left < right, left == right
            left = str(int(_COMPARED[operator](less, same)))
        return left

    def _sum(self, counts: bool) -> str:
        left = self._product(counts)
        while operator := self._take("+", "-"):
            right = self._product(counts)
            if counts:
                left = str(_number(left) + _number(right) * (1 if operator == "+" else -1))
        return left

    def _product(self, counts: bool) -> str:
        left = self._match(counts)
        while operator := self._take("*", "/", "%"):
            right = self._match(counts)
            if counts:
                left = str(_multiplied(operator, _number(left), _number(right)))
        return left

    def _match(self, counts: bool) -> str:
        left = self._word(counts)
        while self._take(":"):
            right = self._word(counts)
            left = _matched(left, right) if counts else left
        return left

    def _word(self, counts: bool) -> str:
        word = self._next()
        if word == "(":
            self.depth += 1
            if self.depth > MOST_NESTED:
                raise _ExprRefused("memory exhausted")
            value = self.either(counts)
            self.depth -= 1
            if not self._take(")"):
                found = (
                    f"expecting ')' instead of '{self.words[0]}'"
                    if self.words
                    else f"expecting ')' after '{self.last}'"
                )
                raise _ExprRefused(f"syntax error: {found}")
            return value
        if word == ")":
            raise _ExprRefused("syntax error: unexpected ')'")
        if word == "+" and self.words:
            return self._next()
        if word == "length":
            return str(len(self._word(counts)))
        if word == "match":
            text, pattern = self._word(counts), self._word(counts)
            return _matched(text, pattern) if counts else ""
        if word == "index":
            text, letters = self._word(counts), self._word(counts)
            return str(next((place for place, letter in enumerate(text, 1) if letter in letters), 0))
        if word == "substr":
            text, start, length = self._word(counts), self._word(counts), self._word(counts)
            return _part(text, start, length)
        return word

    def _next(self) -> str:
        if not self.words:
            raise _ExprRefused(f"syntax error: missing argument after '{self.last}'")
        self.last = self.words.pop(0)
        return self.last


def _number(text: str) -> int:
    if _NUMBER.fullmatch(text) is None or len(text) > _LONGEST:
        raise _ExprRefused("non-integer argument")
    return int(text)


def _multiplied(operator: str, left: int, right: int) -> int:
    if operator == "*":
        return left * right
    if right == 0:
        raise _ExprRefused("division by zero")
    # Cut off towards zero, as in C.
    quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
    return quotient if operator == "/" else left - quotient * right


def _matched(text: str, pattern: str) -> str:
    """Return what the first group holds, or how many letters match without one; the pattern begins at the text's beginning."""
    try:
        wanted = expression(pattern)
    except ExpressionProblem as problem:
        raise _ExprRefused(str(problem)) from None
    found = wanted.begins(text)
    if found is None:
        return "" if wanted.groups else "0"
    return found[1] if wanted.groups else str(len(found[0]))


def _part(text: str, start: str, length: str) -> str:
    if _NUMBER.fullmatch(start) is None or _NUMBER.fullmatch(length) is None:
        return ""
    first, count = _number(start), _number(length)
    return text[first - 1 : first - 1 + count] if first > 0 and count > 0 else ""
