"""Indentation and comments of lines: each function takes lines and returns lines."""

from collections.abc import Sequence


def width(line: str, tab: int = 8) -> int:
    """Return how far a line is indented, in columns."""
    columns = 0
    for letter in line:
        if letter == "\t":
            columns += tab - columns % tab
        elif letter == " ":
            columns += 1
        else:
            break
    return columns


def indented(lines: Sequence[str], step: int = 4) -> list[str]:
    """Return the lines moved to the next multiple of a step; empty lines stay empty."""
    return [_at(line, (width(line) // step + 1) * step) for line in lines]


def dedented(lines: Sequence[str], step: int = 4) -> list[str]:
    """Return the lines moved back to the multiple of a step before."""
    return [_at(line, max(0, (width(line) - 1) // step * step)) for line in lines]


def _at(line: str, columns: int) -> str:
    text = line.lstrip()
    return " " * columns + text if text else ""


def next_indent(line: str, step: int = 4) -> str:
    """Return the indentation of a line that follows: deeper behind `:` or an open bracket."""
    columns = width(line)
    code = line.split("#")[0].rstrip()
    if code.endswith((":", "(", "[", "{")):
        columns += step
    elif code.lstrip().startswith(("return", "break", "continue", "raise", "pass")):
        columns = max(0, columns - step)
    return " " * columns


def commented(lines: Sequence[str], sign: str = "#") -> list[str]:
    """Return the lines with comment signs; without them if all that are not empty have one."""
    full = [line for line in lines if line.strip()]
    if full and all(line.lstrip().startswith(sign) for line in full):
        return [_uncommented(line, sign) for line in lines]
    columns = min((len(line) - len(line.lstrip()) for line in full), default=0)
    return [f"{line[:columns]}{sign} {line[columns:]}" if line.strip() else line for line in lines]


def _uncommented(line: str, sign: str) -> str:
    if not line.strip():
        return line
    head, _, tail = line.partition(sign)
    return head + tail.removeprefix(" ")
