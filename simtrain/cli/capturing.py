"""The display of a capture: a line for each server at work, plain lines when the output is no terminal."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Self

from simtrain.cli.terminal import in_line


class CaptureProgress:
    """Shown on standard error. `doing` is what a capture is watched with."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._live: Any = None
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> Self:
        if not self._quiet and sys.stderr.isatty():
            self._start_live()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def doing(self, server: str, what: str) -> None:
        """A server has come this far; at the end it is "captured" or "failed"."""
        if self._live is not None:
            if server not in self._tasks:
                self._tasks[server] = self._live.add_task("", server=in_line(server), what="", total=None)
            total = 1 if what.startswith(("captured", "failed")) else None
            self._live.update(self._tasks[server], what=what, total=total, completed=total or 0)
        elif not self._quiet and what.startswith("captured"):
            print(f"{in_line(server)}: {what}", file=sys.stderr, flush=True)

    def _start_live(self) -> None:
        from rich.progress import Progress, SpinnerColumn, TextColumn

        from simtrain.cli.options import console

        self._live = Progress(
            SpinnerColumn(),
            TextColumn("{task.fields[server]}", markup=False),
            TextColumn("{task.fields[what]}", markup=False),
            console=console(stderr=True),
            refresh_per_second=8,
        )
        self._live.start()
