"""Real `simtrain run` processes for tests: a small scenario, agents that take their time or misbehave, and ways to look at run folders."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import bakery

ROOT = Path(__file__).parents[2]
_PROGRESS = re.compile(r"(?:[^:]+: )?\d+/\d+ episodes, .+ left")
PATIENCE = 60.0
COMMAND = (sys.executable, "-m", "simtrain")

AGENTS = '''\
"""Agents for tests. They find their folder in the environment."""

import asyncio
import os
import time
from pathlib import Path

from simtrain.contracts.agent import Loop
from simtrain.values.types import Message

FOLDER = Path(os.environ.get("AGENT_FOLDER", "."))


def mark(kind):
    """Leave a file that says who was here."""
    (FOLDER / f"{kind}-{os.getpid()}").touch()


class Steady(Loop):
    """Three calls with a little time between them, then an answer that differs from episode to episode."""

    async def run(self, briefing, step):
        mark("worker")
        cakes = await step("cakes.list", {})
        for _ in range(3):
            await asyncio.sleep(float(os.environ.get("AGENT_PAUSE", "0.002")))
        cake = cakes.content["cakes"][briefing.seed % 8]
        await step("orders.place", {"cake_id": cake["id"], "amount": 1})
        await step("orders.list", {"cake_id": cake["id"]})
        return Message(f"ANSWER: {briefing.seed}", answer=str(briefing.seed))


class Gated(Loop):
    """Waits in the middle of every episode until there is a file called `open`; episodes begun before count as in flight."""

    async def run(self, briefing, step):
        await step("cakes.list", {})
        (FOLDER / f"begun-{os.getpid()}-{briefing.seed}").touch()
        while not (FOLDER / "open").exists():
            await asyncio.sleep(0.005)
        return Message("ANSWER: 1", answer="1")


class Blocking(Loop):
    """Holds the whole process up, as an agent without a single await does."""

    async def run(self, briefing, step):
        mark("begun")
        time.sleep(600)


class Clinging(Loop):
    """Does not let go when it is cancelled."""

    async def run(self, briefing, step):
        mark("begun")
        while True:
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                mark("cancelled")


class Broken(Loop):
    """Fails with an exception of its own in every second episode."""

    async def run(self, briefing, step):
        if briefing.seed % 2:
            raise RuntimeError("my own fault")
        return Message("ANSWER: 1", answer="1")


class Dying(Loop):
    """Kills its own process in the middle of an episode, once."""

    async def run(self, briefing, step):
        await step("cakes.list", {})
        try:
            (FOLDER / "died").touch(exist_ok=False)
        except FileExistsError:
            return Message("ANSWER: 1", answer="1")
        os.kill(os.getpid(), 9)
'''

NAMES = ("steady", "gated", "blocking", "clinging", "broken", "dying")


class Bench:
    """A folder with a scenario, agents installed as another package would install them, and run folders."""

    def __init__(self, folder: Path, *, more: str = "") -> None:
        self.folder = folder
        self.scenario = bakery.write_files(folder, more=more)
        self.environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", "AGENT_FOLDER": str(folder)}
        (folder / "odd_agents.py").write_text(AGENTS)
        information = folder / "odd_agents-1.0.dist-info"
        information.mkdir(exist_ok=True)
        (information / "METADATA").write_text("Metadata-Version: 2.1\nName: odd-agents\nVersion: 1.0\n")
        points = "".join(f"{name} = odd_agents:{name.capitalize()}\n" for name in NAMES)
        (information / "entry_points.txt").write_text(f"[simtrain.agents]\n{points}")

    def start(self, out: str, *options: str, agent: str = "steady", **environment: str) -> subprocess.Popen[str]:
        """Start a run into a folder of that name, in a process group of its own."""
        return subprocess.Popen(
            [*COMMAND, "run", str(self.scenario), "--agent", agent, "--out", str(self.folder / out), *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder, start_new_session=True,
            env={**self.environment, **environment},
        )  # fmt: skip

    def play(self, out: str, *options: str, agent: str = "steady", **environment: str) -> tuple[int, str]:
        """A run to its end: exit code, and what it said on standard error."""
        return ended(self.start(out, *options, agent=agent, **environment))

    def lines(self, out: str) -> list[bytes]:
        """All lines of all trajectory files, a torn one included."""
        parts = sorted((self.folder / out).glob("trajectories-*.jsonl"))
        return [line for part in parts for line in part.read_bytes().splitlines(keepends=True)]

    def trajectories(self, out: str) -> dict[tuple[object, ...], str]:
        """The trajectories of a run by key, without timing; every line must be whole, and every key there once."""
        found: dict[tuple[object, ...], str] = {}
        for line in self.lines(out):
            assert line.endswith(b"\n")
            row = json.loads(line)
            key = tuple(row[name] for name in ("scenario_digest", "episode", "seed", "attempt"))
            assert key not in found
            row.pop("timing")
            found[key] = json.dumps(row)
        return found

    def begun(self, kind: str = "begun") -> list[str]:
        """The marks that agents left."""
        return [path.name for path in self.folder.glob(f"{kind}-*")]


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Exit code of a process that is about to end, and its standard error without lines of progress."""
    _, said = process.communicate(timeout=PATIENCE)
    return process.returncode, without_progress(said)


def without_progress(said: str) -> str:
    """What a run said on standard error, but for the lines of progress that a slow machine adds."""
    return "".join(line for line in said.splitlines(keepends=True) if not _PROGRESS.fullmatch(line.rstrip("\n")))


def kill(process: subprocess.Popen[str], *, group: bool = True) -> None:
    """kill -9, of the whole group or of the one process, whose workers may still hold its pipes."""
    if group:
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait(timeout=PATIENCE)
    for pipe in (process.stdout, process.stderr):
        assert pipe is not None
        pipe.close()


def until(condition: Callable[[], object], *, running: subprocess.Popen[str] | None = None) -> bool:
    """Wait for a condition, at most PATIENCE seconds; False when the process that should bring it about has ended before."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if running is not None and running.poll() is not None:
            return bool(condition())
        assert time.monotonic() < deadline, "this never happened"
        time.sleep(0.001)
    return True


def alive(pid: int) -> bool:
    """Whether a process runs (a zombie does not)."""
    try:
        return _state(Path(f"/proc/{pid}/stat")) != "Z"
    except (FileNotFoundError, ProcessLookupError):
        # The second where it goes between opening and reading.
        return False


def stop(pid: int) -> None:
    """Stop a process, and wait until each of its threads has: one that has not heard of it yet goes on for a while."""
    os.kill(pid, signal.SIGSTOP)
    until(lambda: all(_state(path) == "T" for path in Path(f"/proc/{pid}/task").glob("*/stat")))


def _state(stat: Path) -> str:
    return stat.read_text().rpartition(")")[2].split()[0]
