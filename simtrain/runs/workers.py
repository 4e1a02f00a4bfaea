"""Several worker processes on one run: each plays its share and writes its own file.

A worker ignores signals: the main process tells it to stop, and it ends when that process is gone. It inherits the lock of the run
folder, so that nobody else writes there while it lives.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from array import array
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Protocol, cast

from simtrain.agents.select import build_agent
from simtrain.contracts.scenario import Scenario
from simtrain.runs.run_folder import RunFolder
from simtrain.runs.runner import FinishedRollout, RunOptions, Stopper, play
from simtrain.runs.schedule import Deal, grown
from simtrain.scenarios.arms import armed
from simtrain.scenarios.load import load_scenario_file
from simtrain.values.arm import Arm
from simtrain.values.errors import InputError, RunFault, SimtrainError

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _Descriptor(Protocol):
    """A file descriptor on its way to a child."""

    def detach(self) -> int: ...


class _Lock:
    """The lock of the run folder, passed to a worker, which holds it from then on."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    # DupFd makes multiprocessing hand the descriptor itself to the child; an integer would name nothing there.
    def __reduce__(self) -> tuple[Callable[[_Descriptor], _Lock], tuple[_Descriptor]]:
        return _inherited, (DupFd(self.descriptor),)


def _inherited(descriptor: _Descriptor) -> _Lock:
    return _Lock(descriptor.detach())


@dataclass(frozen=True)
class _Job:
    files: list[tuple[str, str, str, Arm | None]]
    options: RunOptions
    out: str
    worker: int
    share: array[int]
    lock: _Lock


@dataclass(frozen=True)
class _Problem:
    """A problem that ended a worker. `bad_input` is true if the author of a file can fix it."""

    text: str
    bad_input: bool


@dataclass(frozen=True)
class _Worker:
    process: SpawnProcess
    reports: Connection
    orders: Connection

    def stop(self, asked: int) -> None:
        """Tell the worker how often a stop was requested: once to drain, twice to drop rollouts in flight."""
        try:
            self.orders.send(asked)
        except OSError:
            # The worker has already ended, as requested.
            return


class Crew:
    """The worker processes of one run."""

    def __init__(self, scenarios: Sequence[Scenario], options: RunOptions, folder: RunFolder) -> None:
        self._files = [(str(item.document.path.resolve()), item.name, item.digest, item.arm) for item in scenarios]
        self._options = options
        self._folder = folder
        self._workers: list[_Worker] = []

    def play(self, missing: array[int], *, on_played: Callable[[FinishedRollout], None], stopper: Stopper) -> None:
        """Play the episodes at the given indices of the deal.

        Raises InputError if a worker meets bad input or cannot write, RunFault if one dies. The others then finish their rollouts in
        flight and stop.
        """
        stopper.listen(self._stop)
        try:
            for number in range(self._options.workers):
                # Every n-th episode to each worker, so that families and easy and hard cases spread evenly.
                self._workers.append(self._start(number, missing[number :: self._options.workers]))
            # A stop may have been requested while the workers were starting.
            self._stop(stopper.asked)
            problems = self._listen(on_played)
        finally:
            self.kill()
        if problems and stopper.asked < 2:
            first = problems[0]
            if first.bad_input:
                raise InputError(first.text)
            raise RunFault(f"{self._folder.path}: {first.text}; what is finished is kept: continue with --resume")

    def kill(self) -> None:
        """Kill all workers that still run."""
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.process.join()

    def _start(self, number: int, share: array[int]) -> _Worker:
        # Not fork: a forked child would share the parent's threads' locks, event loop and SQLite connections.
        context = get_context("spawn")
        reports, reporting = context.Pipe(duplex=False)
        ordered, orders = context.Pipe(duplex=False)
        job = _Job(self._files, self._options, str(self._folder.path), number, share, _Lock(self._folder.lock))
        process = context.Process(target=_main, args=(job, reporting, ordered), name=f"worker {number}")
        with _born_deaf():
            process.start()
        # The parent's copies must go, or a dead worker's pipe would never read as closed.
        reporting.close()
        ordered.close()
        return _Worker(process, reports, orders)

    def _stop(self, asked: int) -> None:
        for worker in self._workers:
            worker.stop(asked)

    def _listen(self, on_played: Callable[[FinishedRollout], None]) -> list[_Problem]:
        """Receive reports until the last worker has ended."""
        problems: list[_Problem] = []
        at_work = {worker.reports: worker for worker in self._workers}
        while at_work:
            for reports in cast(list[Connection], wait(list(at_work))):
                try:
                    report = reports.recv()
                except (EOFError, OSError):
                    # The other end is closed. A killed worker may also have left half a report, hence OSError.
                    report = _ended(at_work.pop(reports).process)
                if isinstance(report, FinishedRollout):
                    on_played(report)
                elif isinstance(report, _Problem):
                    problems.append(report)
                    # The run cannot succeed any more, but rollouts in flight are worth keeping.
                    self._stop(1)
        return problems


def _ended(process: SpawnProcess) -> _Problem | None:
    process.join()
    if process.exitcode == 0:
        return None
    return _Problem(f"{process.name} died (exit code {process.exitcode})", bad_input=False)


@contextmanager
def _born_deaf() -> Generator[None]:
    """Block Ctrl-C and SIGTERM for processes started in the block. In this process they are only deferred."""
    # Started first: multiprocessing unblocks the signals when it has to start its resource tracker.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _main(job: _Job, reports: Connection, orders: Connection) -> None:
    """Run a worker from start to end."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    # First ignored, then unblocked: a signal that was pending is dropped and does not kill the worker.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    threading.Thread(target=_end_with_the_run, daemon=True).start()
    try:
        asyncio.run(_work(job, reports, orders))
    except InputError as error:
        reports.send(_Problem(str(error), bad_input=True))
    except SimtrainError as error:
        reports.send(_Problem(str(error), bad_input=False))


def _end_with_the_run() -> None:
    # A thread, since an agent may block the event loop.
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


async def _work(job: _Job, reports: Connection, orders: Connection) -> None:
    load = cache(load_scenario_file)
    # Scenarios are loaded again, not pickled: compiled templates and SQLite worlds cannot be sent. The digest guards against edits.
    loaded = [_load(load(Path(file), name), digest, arm) for file, name, digest, arm in job.files]
    options = job.options
    scenarios = grown(loaded, options.seeds)
    dealt = Deal(scenarios, seed=options.seed, total=options.episodes, attempts=options.attempts)
    agent = build_agent(options.agent, options.knobs)
    stopper = Stopper()

    loop = asyncio.get_running_loop()

    def ordered() -> None:
        try:
            asked = orders.recv()
        except EOFError:
            # The main process is gone, and this one ends in a moment.
            loop.remove_reader(orders.fileno())
            return
        while stopper.asked < asked:
            stopper.ask()

    # In the loop, not in a thread: the stopper's listeners cancel tasks.
    loop.add_reader(orders.fileno(), ordered)
    episodes = (dealt[place] for place in job.share)
    try:
        out = Path(job.out)
        await play(episodes, agent, options, out, worker=job.worker, on_played=reports.send, stopper=stopper)
    finally:
        loop.remove_reader(orders.fileno())


def _load(unarmed: Scenario, digest: str, arm: Arm | None) -> Scenario:
    scenario = armed(unarmed, arm) if arm else unarmed
    if scenario.digest != digest:
        raise unarmed.document.error((), "the scenario (or its world or a pack) was changed while the run began")
    return scenario
