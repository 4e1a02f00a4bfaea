"""The live displays of a drill."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import Self

from simtrain.cli.progress import Counting, RunProgress
from simtrain.drills.drill import Watch


class DrillProgress:
    """The displays of a drill: one for the episodes of each agent, one for its proofs."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def watch(self) -> Watch:
        """What a drill tells."""
        return Watch(
            self._planned, lambda played: self._run.played(played), self._proving, lambda: self._proofs.advance()
        )

    def _planned(self, total: int) -> None:
        self._stack.close()
        self._run = self._stack.enter_context(RunProgress(quiet=self._quiet))
        self._run.planned(total)

    def _proving(self, total: int) -> None:
        self._stack.close()
        self._proofs = self._stack.enter_context(Counting("proving", total=total, quiet=self._quiet))
