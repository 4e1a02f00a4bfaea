"""Divides pages among processes: each reads every n-th batch and reports its findings."""

import signal
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import cast

from simtrain.values.errors import SimulatorFault
from simtrain.worlds.search.checking.page import PageReader, ReaderReport
from simtrain.worlds.search.checking.pieces import AuthorProse


@dataclass(frozen=True, slots=True)
class ReadingTask:
    """The pages to read: all of a file up to `last`, in batches."""

    path: str
    units: dict[str, tuple[str, float]]
    wording: AuthorProse
    last: int
    at_once: int


def shared(task: ReadingTask, *, workers: int, on_pages: Callable[[int], None]) -> list[ReaderReport]:
    """Read everything and return the findings of each process, in order.

    Raises sqlite3.DatabaseError for a damaged file, SimulatorFault if a process ends early.
    """
    # Not fork: SQLite connections must not be carried into a child (https://www.sqlite.org/howtocorrupt.html).
    context = get_context("spawn")
    ends: dict[Connection, int] = {}
    processes: list[SpawnProcess] = []
    try:
        for number in range(workers):
            end, far = context.Pipe(duplex=False)
            ends[end] = number
            process = context.Process(target=_work, args=(far, task, number, workers), daemon=True)
            process.start()
            # With the parent's copy of this end open, a dead child would never read as end of file.
            far.close()
            processes.append(process)
        return _gathered(ends, on_pages)
    finally:
        for end in ends:
            end.close()
        for process in processes:
            process.terminate()
            process.join()


def _gathered(ends: Mapping[Connection, int], on_pages: Callable[[int], None]) -> list[ReaderReport]:
    found: dict[int, ReaderReport] = {}
    while len(found) < len(ends):
        for end in wait([end for end, number in ends.items() if number not in found]):
            own = cast(Connection, end)
            try:
                message: object = own.recv()
            except EOFError:
                raise SimulatorFault("a process that reads pages has ended early") from None
            if isinstance(message, sqlite3.DatabaseError):
                raise message
            if isinstance(message, ReaderReport):
                found[ends[own]] = message
            else:
                on_pages(cast(int, message))
    return [found[number] for number in range(len(ends))]


def _work(end: Connection, task: ReadingTask, number: int, workers: int) -> None:
    # Ctrl-C reaches the whole process group; the parent handles it and ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection = sqlite3.connect(f"{Path(task.path).as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        reader = PageReader(connection, task.units, task.wording)
        for first in range(1 + number * task.at_once, task.last + 1, workers * task.at_once):
            end.send(reader.read(first, first + task.at_once - 1))
        end.send(reader.report())
    except sqlite3.DatabaseError as error:
        end.send(error)
    except BrokenPipeError:
        # The parent is gone.
        return
    finally:
        connection.close()
