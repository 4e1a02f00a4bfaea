"""Indexing the words of a run in a thread of its own, so that pages can be made meanwhile, and say how far it is."""

from pathlib import Path
from threading import Thread

from simtrain.runs.run_index import RunIndex
from simtrain.values.errors import InputError
from simtrain.view.text_search import WordIndex


class _EndedError(Exception):
    """The viewer ends."""


class WordIndexing:
    """The work on one run: `done` of `total` episodes, `problem` if it failed."""

    def __init__(self, path: Path, total: int) -> None:
        """Begin. `total` is the number of episodes that are missing."""
        self.done = 0
        self.total = total
        self.problem = ""
        self._path = path
        self._ended = False
        # With the process it may end anywhere: each group of episodes is one transaction.
        self._thread = Thread(target=self._work, daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        """True until it is done or has failed."""
        return self._thread.is_alive()

    def end(self) -> None:
        """Stop the work, and wait for that. What was indexed stays."""
        self._ended = True
        self._thread.join()

    def _work(self) -> None:
        try:
            # Connections of its own: those of the viewer belong to whoever makes a page.
            with RunIndex(self._path) as index:
                index.refresh()
                WordIndex(index).add(self._count)
        except InputError as error:
            self.problem = str(error)
        except _EndedError:
            pass

    def _count(self) -> None:
        if self._ended:
            raise _EndedError
        self.done += 1
