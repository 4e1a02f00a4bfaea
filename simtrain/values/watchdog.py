"""A thread that looks at what is under way, again and again, and exists only while there is something."""

import os
import threading
from collections.abc import Callable
from time import sleep


class Watchdog:
    """Calls `look` at intervals of `every` seconds, which returns whether anything is under way; it ends after `patience` looks at nothing.

    Whoever has begun something calls `start`, unless it `runs`. What begins is seen at the latest by the last look.
    """

    def __init__(self, look: Callable[[], bool], *, name: str, every: float, patience: int) -> None:
        """Prepare the thread."""
        self._look = look
        self._name = name
        self._every = every
        self._patience = patience
        self._begin_anew()
        os.register_at_fork(after_in_child=self._begin_anew)

    def start(self) -> None:
        """Start the thread unless it runs already."""
        with self._starting:
            if not self.runs:
                self.runs = True
                threading.Thread(target=self._serve, name=self._name, daemon=True).start()

    def _begin_anew(self) -> None:
        # A forked process has the data but not the thread.
        self.runs = False
        self._starting = threading.Lock()

    def _serve(self) -> None:
        idle = 0
        while idle < self._patience:
            sleep(self._every)
            idle = 0 if self._look() else idle + 1
        # What begins from here on starts a new thread; what began just before is seen here.
        self.runs = False
        if self._look():
            self.start()
