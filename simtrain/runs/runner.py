"""Play episodes in one process: with bounded concurrency, each trajectory written as it finishes, and a stop in two stages."""

import asyncio
import gc
import signal
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import AsyncExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType

from simtrain.contracts.agent import Agent
from simtrain.contracts.registry import resolve
from simtrain.contracts.scenario import Episode
from simtrain.contracts.trajectory import Stop, Trajectory, to_line
from simtrain.contracts.transport import Connect
from simtrain.runs.judge import judge
from simtrain.runs.rollout import hosted
from simtrain.runs.trajectory_files import run_writers
from simtrain.values.errors import InputError
from simtrain.values.types import JsonValue

GRACE = 2.0
"""Seconds that rollouts have to end after the second Ctrl-C."""


@dataclass(frozen=True, slots=True)
class FinishedRollout:
    """Facts of one finished rollout, for a progress display. `kept` is false for one that is played again on resume.

    `cost` is the cost of its models, in US dollars.
    """

    scenario: str
    reward: float | None
    stop: str
    steps: int
    kept: bool
    cost: float = 0.0


@dataclass(frozen=True)
class RunOptions:
    """How a run is played. `episodes` is the total over all families; None plays every case once. `via` names a transport.

    Once the whole run folder has cost `max_cost` US dollars, no further episode is begun. With `real_time` the delays of
    perturbations take real time. `seeds` are those of the worlds, in place of the scenarios' own.
    """

    agent: str
    knobs: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    seed: int = 0
    episodes: int | None = None
    attempts: int = 1
    concurrency: int = 32
    workers: int = 1
    sync_every: int = 0
    via: str | None = None
    max_cost: float | None = None
    real_time: bool = False
    seeds: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in ("attempts", "concurrency", "workers"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1")
        if self.episodes is not None and self.episodes < 1:
            raise InputError("episodes must be at least 1")


class Stopper:
    """A stop in two stages: the first request lets rollouts in flight finish, the second drops them."""

    def __init__(self) -> None:
        self.asked = 0
        self._listeners: list[Callable[[int], None]] = []

    def ask(self) -> None:
        """Ask once to drain, twice to drop rollouts in flight. May be called from a signal handler."""
        self.asked += 1
        for listener in self._listeners:
            listener(self.asked)

    def listen(self, listener: Callable[[int], None]) -> None:
        """Call `listener` with the number of times asked, each time."""
        self._listeners.append(listener)


@contextmanager
def stop_on_signals(stopper: Stopper, *, at_last: Callable[[], None]) -> Generator[None]:
    """Let Ctrl-C (and SIGTERM) ask the stopper while the block runs.

    If the block still runs GRACE seconds after the second request (an agent blocks or ignores its cancellation), `at_last` is called
    in a thread of its own. Outside the main thread signals are left to the caller's program.
    """
    # Python lets only the main thread set signal handlers.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    over = threading.Event()

    def watch() -> None:
        if not over.wait(GRACE):
            at_last()

    def asked(count: int) -> None:
        if count == 2:
            # A thread, since an agent that blocks the event loop would block a timer in it as well.
            threading.Thread(target=watch, name="stop at once", daemon=True).start()

    def ask(number: int, frame: FrameType | None) -> None:
        stopper.ask()

    stopper.listen(asked)
    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        over.set()
        for number, handler in before.items():
            signal.signal(number, handler)


async def play(
    episodes: Iterable[Episode],
    agent: Agent,
    options: RunOptions,
    out: Path,
    *,
    worker: int = 0,
    on_played: Callable[[FinishedRollout], None],
    stopper: Stopper,
) -> None:
    """Play episodes with bounded concurrency, writing each as it finishes into the run folder `out`, to the files of one worker.

    Raises InputError when a file cannot be written.
    """
    async with AsyncExitStack() as stack:
        kept, failures = stack.enter_context(run_writers(out, worker, sync_every=options.sync_every))
        stack.push_async_callback(agent.close)
        connect: Connect = nullcontext
        if options.via is not None:
            transport = resolve("transports", options.via)()
            connect = await stack.enter_async_context(transport.running())
        rollout = await stack.enter_async_context(hosted(agent, name=options.agent, judge=judge, connect=connect))
        stack.enter_context(_rare_collections())
        queue = iter(episodes)

        async def play_on() -> None:
            # One shared iterator: whichever worker is free takes the next episode, so that long ones do not hold up a batch.
            while not stopper.asked:
                episode = next(queue, None)
                if episode is None:
                    return
                if options.real_time:
                    episode = replace(episode, real_time=True)
                trajectory, line = recorded(await rollout(episode))
                # Through no fault of the agent: written to another file, and played again on resume.
                lost = trajectory.stop.reason == "failed" and trajectory.stop.blame != "agent"
                (failures if lost else kept).write(line)
                on_played(
                    FinishedRollout(
                        trajectory.scenario,
                        trajectory.reward,
                        trajectory.stop.reason,
                        len(trajectory.steps),
                        not lost,
                        trajectory.cost,
                    )
                )

        loop = asyncio.get_running_loop()
        tasks = [asyncio.ensure_future(play_on()) for _ in range(options.concurrency)]

        def cancel_on_second_request(count: int) -> None:
            if count > 1:
                # A signal handler may run between any two bytecodes: tasks are cancelled from within the loop.
                loop.call_soon_threadsafe(_cancel, tasks)

        stopper.listen(cancel_on_second_request)
        await _gather(tasks)


@contextmanager
def _rare_collections() -> Generator[None]:
    """Hide loaded objects from the garbage collector, and collect rarely: worlds and scenarios live as long as the run."""
    gc.collect()
    gc.freeze()
    thresholds = gc.get_threshold()
    gc.set_threshold(50_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()


def recorded(trajectory: Trajectory) -> tuple[Trajectory, bytes]:
    """Return the trajectory and its line. If a text of the agent cannot be written as JSON (half a surrogate pair), drop its turns."""
    try:
        return trajectory, to_line(trajectory)
    except TypeError as error:
        stop = Stop("failed", "agent", f"what the agent said cannot be written as JSON: {error}")
        kept = replace(trajectory, turns=[], answer=None, stop=stop, reward=0.0, rewards=(), usage=None)
        return kept, to_line(kept)


def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()


async def _gather(tasks: list[asyncio.Task[None]]) -> None:
    """Wait for all tasks; the first real error cancels the others and is raised."""
    # Not a TaskGroup: it raises an ExceptionGroup, and callers catch InputError itself.
    _, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    _cancel(list(pending))
    if pending:
        await asyncio.wait(pending)
    # Every exception is retrieved, or asyncio would complain about the others at exit.
    errors = [error for task in tasks if not task.cancelled() and (error := task.exception()) is not None]
    if errors:
        raise errors[0]
