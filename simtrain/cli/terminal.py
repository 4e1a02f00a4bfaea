"""Make text safe for a terminal: characters that control it, or reorder text, are escaped.

Names and texts come from untrusted worlds, agents and servers. Everything that is printed goes through `fit`: the
standard streams are wrapped while a command runs (`fitting_streams`), and what rich prints is fitted before rich adds its own codes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

LONGEST_ERROR = 500
"""Maximum characters of an error line."""

# C0 and C1 controls except tabs and line ends, bidirectional and invisible format characters, tags, and lone surrogates.
_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff\ud800-\udfff]"
)
_LINES = re.compile(r"[\t\n]")


def fit(text: str) -> str:
    """Return a text fit for a terminal: characters that would steer it are shown as Python writes them (`\\x1b`)."""
    return _STEERING.sub(_shown, text) if not text.isascii() or _STEERING.search(text) else text


def in_line(text: str) -> str:
    """Return a text for the middle of a line: `fit`, with line ends escaped too."""
    return _LINES.sub(_shown, fit(text))


def one_line(text: str) -> str:
    """Return a text as one line safe for a terminal; the middle of a very long one is left out."""
    shown = in_line(text)
    if len(shown) <= LONGEST_ERROR:
        return shown
    # The end is kept, since it contains the remedy.
    gap = " [...] "
    last = LONGEST_ERROR // 3
    return shown[: LONGEST_ERROR - last - len(gap)] + gap + shown[-last:]


def fit_json(text: str) -> str:
    """Return a JSON text safe for a terminal: the same value, with such characters as JSON escapes."""
    return _STEERING.sub(_escaped, text)


def _shown(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


class _Fitting:
    """A text stream that applies `fit` to everything written; other attributes come from the stream itself."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write a text, fitted."""
        self.stream.write(fit(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts, fitted."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def fitting_streams() -> Generator[None]:
    """Make all text that the block prints safe for a terminal."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _Fitting(sys.stdout), _Fitting(sys.stderr)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def console(*, stderr: bool = False) -> Console:
    """Return a rich console; text of worlds and agents is printed literally, never as markup, and made safe for a
    terminal.
    """
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment
    from rich.text import Text

    class Screen(Console):
        @property
        def file(self) -> IO[str]:
            found = super().file
            # Past the wrapper: rich adds escape codes of its own after fitting, and those must stay.
            return found.stream if isinstance(found, _Fitting) else found

        @file.setter
        def file(self, new_file: IO[str]) -> None:
            self._file = new_file

        def render_str(self, text: str, **how: Any) -> Text:
            # Applied here already, so that text is measured as it will be shown.
            return super().render_str(fit(text), **how)

        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                text, style, control = segment
                # Control segments are rich's own cursor movements; everything else may come from a world.
                yield segment if control else Segment(fit(text), style)

    return Screen(stderr=stderr, markup=False, highlight=False, emoji=False)
