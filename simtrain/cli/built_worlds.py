"""What the commands on search worlds share: which file is meant, and how its build is shown."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from simtrain.cli.progress import speed
from simtrain.values.errors import InputError

if TYPE_CHECKING:
    from simtrain.contracts.world import Variant
    from simtrain.worlds.search.source import SearchSource

PLAIN_EVERY = 5.0


def search_source(name: str) -> SearchSource:
    """Return the search world of that name or path. Raises InputError for none, and for a world of another kind."""
    from simtrain.scenarios.find import find
    from simtrain.scenarios.load import load_world
    from simtrain.worlds.search.source import SearchSource

    if _is_built(name) and Path(name).exists():
        raise InputError(
            "a built file does not do", remedy="name its world, or the YAML that it was built from", file=name
        )
    path = find("worlds", name)
    source = load_world(path)
    if not isinstance(source, SearchSource):
        raise InputError(f"{source.name!r} is a {source.kind} world, which is not built into a file", file=path)
    return source


def variant_of(*, pages: int | None, seed: int | None, rows: Sequence[str]) -> Variant:
    """Return the size that is asked for. Raises InputError for what is no TYPE=COUNT."""
    from simtrain.contracts.world import Variant

    counts: list[tuple[str, int]] = [] if pages is None else [("pages", pages)]
    for given in rows:
        kind, _, count = given.partition("=")
        if not kind or not count.isdigit():
            raise InputError(f"{given!r} is no number of rows", remedy="write it like station=500", place="--rows")
        counts.append((kind, int(count)))
    return Variant(seed=seed, rows=tuple(counts))


def built_file(name: str, *, variant: Variant, quiet: bool) -> Path:
    """Return a built file given by its path, or the one of a world by name, built if need be. Raises InputError."""
    if _is_built(name):
        return Path(name)
    source = search_source(name)
    with BuildProgress(quiet=quiet) as progress:
        return source.build_file(variant, watching=progress)


def _is_built(name: str) -> bool:
    """True if a name is the path of a built file, not that of a world or of its YAML."""
    return Path(name).suffix not in ("", ".yaml", ".yml")


class BuildProgress:
    """What a build is doing, on standard error: a bar with rate and time left, plain lines when that is no terminal."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._bar: Any = None
        self._task: Any = None
        self._doing = ""
        self._total: int | None = None
        self._done = self._before = 0
        self._begun = self._printed = monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def phase(self, doing: str, total: int | None = None) -> None:
        """A new part of the work begins."""
        self._doing, self._total, self._begun = doing, total, monotonic()
        self._done = self._before = 0
        if self._quiet:
            return
        if sys.stderr.isatty():
            self._show()
        elif total is None or total > 1000:
            self._say(doing if total is None else f"{doing}: {total:,}")

    def advance(self, count: int) -> None:
        """So many more are done."""
        # What an earlier build had done already says nothing about how fast this one is.
        if self._done == 0 and count > 0:
            self._before, self._begun = count, monotonic()
        self._done += count
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done, rate=speed(self._rate()))
        elif (
            not self._quiet and self._total and self._done > self._before and monotonic() - self._printed > PLAIN_EVERY
        ):
            left = (self._total - self._done) / max(self._rate(), 1e-9)
            self._say(f"{self._doing}: {self._done:,} of {self._total:,}, {speed(self._rate())}, {left:,.0f} s left")

    def _rate(self) -> float:
        return (self._done - self._before) / max(monotonic() - self._begun, 1e-3)

    def _say(self, text: str) -> None:
        self._printed = monotonic()
        print(text, file=sys.stderr, flush=True)

    def _show(self) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        from simtrain.cli.options import console

        if self._bar is None:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[rate]}"),
                TimeRemainingColumn(),
                console=console(stderr=True),
                refresh_per_second=8,
                transient=True,
            )
            self._bar.start()
        else:
            self._bar.remove_task(self._task)
        self._task = self._bar.add_task(self._doing, total=self._total, rate="")
