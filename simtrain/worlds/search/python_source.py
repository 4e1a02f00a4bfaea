"""Python source in the making: lines, fresh names, and the text that is written in a straight line with its place on the page."""

from __future__ import annotations


class Source:
    """Lines of a function body. In the code that they make, `a` appends a text to the page and `o` is how long the page is so far."""

    def __init__(self, depth: int) -> None:
        self._lines: list[str] = []
        self._depth = depth
        self._count = 0
        self._pending: list[tuple[bool, str]] = []
        self._counted = 0

    def _line(self, text: str) -> None:
        self._lines.append(" " * self._depth + text)

    def _new(self, letter: str) -> str:
        self._count += 1
        return f"{letter}{self._count}"

    def _offset(self) -> str:
        """The expression of the place where the next thing stands; `o` is brought up to it."""
        self._advance()
        return "o"

    def _advance(self) -> None:
        # Lengths are added as they come: sums over all that stands before would grow with the square of a page.
        fresh = self._pending[self._counted :]
        literal = sum(len(text) for fixed, text in fresh if fixed)
        lengths = [*([str(literal)] if literal else []), *(f"len({name})" for fixed, name in fresh if not fixed)]
        if lengths:
            self._line(f"o += {' + '.join(lengths)}")
        self._counted = len(self._pending)

    def _joined(self) -> str:
        inner = "".join(_escaped(text) if fixed else f"{{{text}}}" for fixed, text in self._pending)
        return f"f'{inner}'"

    def _flush(self) -> None:
        if self._pending:
            self._advance()
            self._line(f"a({self._joined()})")
            self._clear()

    def _clear(self) -> None:
        self._pending, self._counted = [], 0


def _escaped(text: str) -> str:
    """A text as it stands between the quotation marks of an f-string: whatever it holds, it stays a text."""
    plain = text.encode("unicode_escape").decode("ascii")
    return plain.replace("'", "\\'").replace("{", "{{").replace("}", "}}")
