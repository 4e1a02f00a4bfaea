"""Several worker processes on one run: each plays its share and writes its own file."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import cast

from simtrain.agent.choosing import build_agent
from simtrain.assembly import load_scenario_file
from simtrain.dealing import deal
from simtrain.errors import InputError, SimtrainError
from simtrain.playing import Played, RunOptions, Stopper, play, stop_on_signals
from simtrain.scenario import Scenario
from simtrain.store import failures_writer, part_writer

WORKERS_LOCK = ".workers.lock"


@dataclass(frozen=True)
class _Job:
    files: list[tuple[str, str]]
    options: RunOptions
    out: str
    worker: int
    share: list[int]


def play_in_workers(
    scenarios: Sequence[Scenario],
    options: RunOptions,
    out: Path,
    missing: list[int],
    *,
    on_played: Callable[[Played], None],
    stopper: Stopper,
) -> None:
    """Play the episodes with the given places in the deal, in several processes. Raises InputError when a worker fails or dies."""
    _refuse_orphans(out)
    context = get_context("spawn")
    files = [(str(scenario.document.path.resolve()), scenario.name) for scenario in scenarios]
    readers: dict[Connection, int] = {}
    processes: list[SpawnProcess] = []
    for worker in range(options.workers):
        reader, writer = context.Pipe(duplex=False)
        job = _Job(files, options, str(out), worker, missing[worker :: options.workers])
        process = context.Process(target=_main, args=(job, writer), daemon=False)
        process.start()
        writer.close()
        readers[reader] = worker
        processes.append(process)

    # Workers get the same Ctrl-C from the terminal and drain by themselves; here it must only not kill the wait.
    def pass_on(number: int, _: object) -> None:
        stopper.ask()
        if number == signal.SIGTERM:
            for process in processes:
                process.terminate()

    before = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        problems = _listen(readers, on_played)
        for process in processes:
            process.join()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    problems += [
        f"worker {index} died (exit code {process.exitcode})"
        for index, process in enumerate(processes)
        if process.exitcode
    ]
    if problems and not stopper.asked:
        raise InputError(problems[0], remedy="what is finished is kept; go on with --resume", file=out)


def _listen(readers: dict[Connection, int], on_played: Callable[[Played], None]) -> list[str]:
    problems: list[str] = []
    while readers:
        for reader in cast(list[Connection], wait(list(readers))):
            try:
                message = reader.recv()
            except EOFError:
                del readers[reader]
                continue
            if isinstance(message, Played):
                on_played(message)
            else:
                problems.append(str(message))
    return problems


def _refuse_orphans(out: Path) -> None:
    """Workers of a killed run may still be ending; a new run must not write beside them."""
    descriptor = os.open(out / WORKERS_LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InputError(
            "workers of an earlier run are still ending", remedy="try again in a moment", file=out
        ) from None
    finally:
        os.close(descriptor)


def _main(job: _Job, writer: Connection) -> None:
    descriptor = os.open(Path(job.out) / WORKERS_LOCK, os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    try:
        asyncio.run(_work(job, writer))
    except SimtrainError as error:
        writer.send(str(error))
    finally:
        writer.close()


async def _work(job: _Job, writer: Connection) -> None:
    parent = parent_process()
    if parent is not None:
        # A worker must not outlive a killed parent: the next run would write beside it.
        asyncio.get_running_loop().add_reader(parent.sentinel, os._exit, 1)
    scenarios = [load_scenario_file(Path(file), name) for file, name in job.files]
    options = job.options
    dealt = deal(scenarios, seed=options.seed, total=options.episodes, attempts=options.attempts)
    kept = part_writer(Path(job.out), job.worker, sync_every=options.sync_every)
    failures = failures_writer(Path(job.out))
    stopper = Stopper()
    try:
        with stop_on_signals(stopper):
            episodes = [dealt[index] for index in job.share]
            await play(
                episodes,
                build_agent(options.agent, options.knobs),
                options,
                kept=kept,
                failures=failures,
                on_played=writer.send,
                stopper=stopper,
            )
    finally:
        kept.close()
        failures.close()
