"""What is printed is made safe for a terminal.

Names and texts come from untrusted worlds, agents and servers. Everything that is printed goes through `fit`: the
standard streams are wrapped while a command runs (`fitting_streams`), and what rich prints is fitted before rich adds its own codes.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from simtrain.values.terminal_text import fit

if TYPE_CHECKING:
    from rich.console import Console


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
