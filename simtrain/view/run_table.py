"""The table of all runs: agents by suites, with success and intervals. What did not change since is not computed again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simtrain.view.figures import GroupFigures, figures
from simtrain.view.filters import Filter
from simtrain.view.shelf import ShelvedRun


@dataclass(frozen=True)
class RunRow:
    """A run in the table: figures by suite and of all episodes (None before the first), and how many were planned."""

    run: ShelvedRun
    suites: Mapping[str, GroupFigures]
    total: GroupFigures | None

    @property
    def episodes(self) -> int:
        """Return how many were played."""
        return self.total.episodes if self.total else 0

    @property
    def planned(self) -> int:
        """Return how many were asked for; 0 if that is not known."""
        found = self.run.facts.get("episodes", 0)
        return found if isinstance(found, int) else 0


class RunTable:
    """Keeps the rows of the table as long as their runs do not change."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[object, RunRow]] = {}

    def rows(self, runs: Sequence[ShelvedRun]) -> tuple[list[RunRow], list[str]]:
        """Return the row of each run, brought up to date, and the suites in them."""
        rows = [self._row(run) for run in runs]
        return rows, sorted({suite for row in rows for suite in row.suites})

    def _row(self, run: ShelvedRun) -> RunRow:
        run.index.refresh()
        stamp = run.index.stamp()
        if run.name not in self._kept or self._kept[run.name][0] != stamp:
            suites = {one.name: one for one in figures(run.index, Filter(), "suite")}
            total = next(iter(figures(run.index, Filter(), "all")), None)
            self._kept[run.name] = stamp, RunRow(run, suites, total)
        return self._kept[run.name][1]
