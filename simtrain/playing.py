"""Playing episodes in one process: bounded concurrency, every trajectory written as it finishes, two stages of stopping."""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from simtrain.errors import InputError
from simtrain.policy import Agent
from simtrain.rollouts import rollout
from simtrain.scenario import Episode
from simtrain.store import LineWriter
from simtrain.trajectory import to_line
from simtrain.types import JsonValue


@dataclass(frozen=True, slots=True)
class Played:
    """What a progress display learns of one finished rollout. `kept` is false for one that is played again on resume."""

    scenario: str
    reward: float | None
    stop: str
    steps: int
    kept: bool


@dataclass(frozen=True)
class RunOptions:
    """How a run is played. `episodes` is the total over all families; None plays every case once."""

    agent: str
    knobs: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    seed: int = 0
    episodes: int | None = None
    attempts: int = 1
    concurrency: int = 32
    workers: int = 1
    sync_every: int = 0

    def __post_init__(self) -> None:
        for name in ("attempts", "concurrency", "workers"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1")
        if self.episodes is not None and self.episodes < 1:
            raise InputError("episodes must be at least 1")


class Stopper:
    """Two-stage stop: the first call lets rollouts in flight finish, the second cancels them."""

    def __init__(self) -> None:
        self.asked = 0
        self.tasks: list[asyncio.Task[None]] = []

    def ask(self) -> None:
        """Ask once to drain, twice to drop what is in flight."""
        self.asked += 1
        if self.asked > 1:
            for task in self.tasks:
                task.cancel()


@contextmanager
def stop_on_signals(stopper: Stopper) -> Generator[None]:
    """While the block runs, Ctrl-C (and SIGTERM) ask the stopper."""
    loop = asyncio.get_running_loop()
    caught: list[signal.Signals] = []
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stopper.ask)
            caught.append(number)
    except (ValueError, RuntimeError, NotImplementedError):
        # Not the main thread: whoever runs us there handles signals.
        caught.clear()
    try:
        yield
    finally:
        for number in caught:
            loop.remove_signal_handler(number)


async def play(
    episodes: Sequence[Episode],
    agent: Agent,
    options: RunOptions,
    *,
    kept: LineWriter,
    failures: LineWriter,
    on_played: Callable[[Played], None],
    stopper: Stopper,
) -> None:
    """Play episodes with bounded concurrency, writing each as it finishes. Raises InputError when a file cannot be written."""
    queue = iter(episodes)
    # Worlds, scenarios and modules stay for the whole run: out of the collector's sight, and collections rarer.
    gc.collect()
    gc.freeze()
    thresholds = gc.get_threshold()
    gc.set_threshold(50_000, 20, 100)

    async def worker() -> None:
        while not stopper.asked:
            episode = next(queue, None)
            if episode is None:
                return
            trajectory = await rollout(episode, agent, name=options.agent)
            lost = trajectory.stop.reason == "failed" and trajectory.stop.blame != "agent"
            (failures if lost else kept).write(to_line(trajectory))
            on_played(
                Played(trajectory.scenario, trajectory.reward, trajectory.stop.reason, len(trajectory.steps), not lost)
            )

    stopper.tasks = [asyncio.ensure_future(worker()) for _ in range(min(options.concurrency, len(episodes)))]
    try:
        await _gather(stopper)
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
        await agent.close()


async def _gather(stopper: Stopper) -> None:
    """Wait for all tasks; the first real error cancels the others and is raised."""
    done, pending = (
        await asyncio.wait(stopper.tasks, return_when=asyncio.FIRST_EXCEPTION)
        if stopper.tasks
        else (set[asyncio.Task[None]](), set[asyncio.Task[None]]())
    )
    for task in pending:
        task.cancel()
    if pending:
        await asyncio.wait(pending)
    for task in done:
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error
