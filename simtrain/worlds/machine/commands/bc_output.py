"""What bc prints: lines that are too long are split behind a backslash."""

from simtrain.worlds.machine.commands.bc_numbers import BcTooLarge

MOST_OUTPUT = 2_000_000
_USUAL = 70


class BcOutput:
    """What has been printed. `length` is one more than a line may have, 0 for no end."""

    def __init__(self, length: int = _USUAL) -> None:
        """Begin a line."""
        self._parts: list[str] = []
        self._length = length
        self._column = 0
        self._total = 0

    @property
    def text(self) -> str:
        """Return all that was printed."""
        return "".join(self._parts)

    def write(self, text: str) -> None:
        """Print a text. Raises BcTooLarge where too much was printed."""
        self._total += len(text)
        if self._total > MOST_OUTPUT:
            raise BcTooLarge
        lines = text.split("\n")
        for number, line in enumerate(lines):
            if number:
                self._parts.append("\n")
                self._column = 0
            self._write_line(line)

    def _write_line(self, line: str) -> None:
        most = self._length - 2
        while self._length and self._column + len(line) > most:
            room = most - self._column
            self._parts += [line[:room], "\\\n"]
            self._column, line = 0, line[room:]
        self._parts.append(line)
        self._column += len(line)


def line_length(given: str | None) -> int:
    """Return the length that a line has by the variable `BC_LINE_LENGTH`."""
    if given is None:
        return _USUAL
    text = given.strip()
    sign = -1 if text.startswith("-") else 1
    digits = text.removeprefix("-").removeprefix("+")
    end = next((place for place, letter in enumerate(digits) if letter not in "0123456789"), len(digits))
    length = sign * int(digits[: min(end, 9)] or "0")
    return length if length == 0 or length > 2 else _USUAL
