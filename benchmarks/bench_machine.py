"""Cost of machine worlds: forks, many open episodes, a step of a shell and of a terminal; the bare engine and `bash -c` beside it."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from statistics import median
from tempfile import TemporaryDirectory

from bashkit import Bash, ExecutionProfile
from report import Figure, arguments, resident, show

from simtrain import load_scenarios, rollout
from simtrain.contracts.agent import Briefing, Player, Policy
from simtrain.contracts.journal import Journal
from simtrain.contracts.request import Request
from simtrain.contracts.scenario import Episode, Scenario
from simtrain.files.yaml_files import parse_document
from simtrain.scenarios.load import paradigm_of
from simtrain.values.types import Action, Message
from simtrain.worlds.machine.deep_threads import DeepThreads
from simtrain.worlds.machine.source import MachineSource
from simtrain.worlds.machine.world import MachineState, MachineWorld

FILES, BYTES = 120, 42_000
FORKS, OPEN, BARE, EPISODES, WAITS = 100, 1000, 5, 10, 8
MIB = 1024 * 1024
READS, WRITES = "cat /srv/tree/d3/f3.txt | head -n 1", "echo more >> /srv/tree/d3/f3.txt"
LINES = (
    "pwd",
    "ls -la d3",
    "cat d3/f3.txt | head -n 5",
    "grep -c 00 d3/f3.txt",
    "wc -l d3/*.txt | tail -n 1",
    "cut -c 1-3 d3/f3.txt | sort | uniq -c | sort -rn | head -n 3",
    "find d3 -name 'f*' | sort | tail -n 1",
    "awk '{sum += $2} END {print sum}' d3/f15.txt",
    "sed -n '2,4p' d3/f3.txt",
    "test -f d3/f3.txt && echo there || echo gone",
    "for file in d3/*.txt; do basename $file; done | wc -l",
    "date +%Y > /dev/null; echo $((6 * 7))",
)
"""Lines that agents type, run in a shell of ours and by the machine's bash, over the same files."""
LIGHT = ("pwd",)

_WORLD = """
kind: machine
name: tree
hostname: tree
user: ann
users: {ann: {}}
schema: |
  create table made (id integer primary key, folder integer not null);
rows:
  made: {count: FILES, with: {id: {sql: "select :seq"}, folder: {sql: "select :seq % 12"}}}
files:
  - each: select id, folder from made order by id
    path: /srv/tree/d{{ folder }}/f{{ id }}.txt
    owner: ann
    lines: >-
      with recursive n (i) as (select 1 union all select i + 1 from n where i < BYTES / 42)
      select printf('%06d %034d', i, i * 7919 % 1000003 * :id) from n
"""


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__ or "")
    # In a thread, as a run and a session carry out calls.
    with DeepThreads(1) as thread:
        figures = thread.submit(_measured, options.rounds).result()
    show("machines: forks, memory and steps", figures, as_json=options.json)


def _measured(rounds: int) -> list[Figure]:
    world = _world()
    return [
        *_forks(world, rounds),
        _memory(world),
        *_steps(rounds),
        *_beside_bash(world, rounds),
        *_keystrokes(rounds),
    ]


def _world(actions: str = "bash") -> MachineWorld:
    document = parse_document(_WORLD.replace("FILES", str(FILES)).replace("BYTES", str(BYTES)), Path("tree.yaml"))
    world = MachineSource.load(document).configured(document, {"actions": actions}, ()).build()
    assert isinstance(world, MachineWorld)
    return world


def _run(state: MachineState, command: str) -> str:
    observation = state.answer(Request(state.world.tools[0], {"command": command}, 0, 0))
    assert observation.structured is not None and observation.structured["exit_code"] == 0, observation.text
    return str(observation.structured["stdout"])


def _cpu(*, children: bool = False) -> float:
    """CPU seconds of this process with all its threads; with `children` also of those that have ended."""
    uses = [getrusage(RUSAGE_SELF), *([getrusage(RUSAGE_CHILDREN)] if children else [])]
    return sum(use.ru_utime + use.ru_stime for use in uses)


def _forks(world: MachineWorld, rounds: int) -> list[Figure]:
    """CPU of forking an open episode and running one command in the fork."""
    size = sum(len(node.content) for node in world.hosts["tree"].base.nodes.values())
    state = world.open()
    _run(state, READS)

    def cost(command: str, *, asked: bool) -> float:
        best = float("inf")
        for _ in range(rounds):
            forks: list[MachineState] = []
            before = _cpu()
            for _ in range(FORKS):
                fork = state.fork()
                _run(fork, command)
                if asked:
                    fork.changes()
                forks.append(fork)
            best = min(best, (_cpu() - before) / FORKS * 1000)
            for fork in forks:
                fork.close()
        return best

    bare, floor = min(_forked_only(state) for _ in range(rounds)), _bare_fork(rounds)
    return [
        Figure("size of the tree", size / MIB, "MiB"),
        Figure("fork that nobody uses", bare, "ms", 0.5),
        Figure("fork with a command that reads", cost(READS, asked=False), "ms", 0.5, floor=floor),
        Figure("  the bare engine: a shell, its state, one command", floor, "ms"),
        Figure("fork with a command that writes", cost(WRITES, asked=False), "ms", 5.0),
        Figure("  and its changes asked for by SQL", cost(WRITES, asked=True), "ms", 15.0),
    ]


def _bare_fork(rounds: int) -> float:
    """CPU of what the engine itself takes for a fork with one command: a shell made without anything of ours, its state restored."""
    state = Bash(profile=ExecutionProfile.Interactive).snapshot(exclude_filesystem=True)
    best = float("inf")
    for _ in range(rounds):
        before = _cpu()
        for _ in range(FORKS):
            other = Bash(profile=ExecutionProfile.Interactive)
            other.restore_snapshot(state)
            other.execute_sync("echo 1 | head -n 1")
        best = min(best, (_cpu() - before) / FORKS * 1000)
    return best


def _forked_only(state: MachineState) -> float:
    before = _cpu()
    forks = [state.fork() for _ in range(FORKS)]
    spent = (_cpu() - before) / FORKS * 1000
    for fork in forks:
        fork.close()
    return spent


def _memory(world: MachineWorld) -> Figure:
    """Resident memory of many open episodes, each of which has written to its tree."""
    before = resident()
    states = [world.open() for _ in range(OPEN)]
    for state in states:
        _run(state, WRITES)
    grown = (resident() - before) / MIB
    for state in states:
        state.close()
    return Figure(f"{OPEN:,} open episodes, each with a write", grown, "MiB", 2048.0)


def _steps(rounds: int) -> list[Figure]:
    """CPU of a step with LangGraph in the loop: of an agent that types LINES, and of the oracle with its grading."""
    scenarios = load_scenarios("terminal")
    typed = _per_step([scenario for scenario in scenarios if scenario.spec.name == "branch_revenue"], Typist(), rounds)
    return [
        Figure("step with LangGraph, an agent that types twelve lines", median(typed), "ms", 2.0),
        Figure(
            "  step of the oracle with fork and grading, median of the families",
            median(_per_step(scenarios, "oracle", rounds)),
            "ms",
        ),
    ]


def _per_step(scenarios: Sequence[Scenario], agent: Policy | str, rounds: int) -> list[float]:
    found: list[float] = []
    for scenario in scenarios:
        # Drawn once, as in a run: the cases are a query over the whole world.
        episodes = list(paradigm_of(scenario).episodes(scenario, seed=0, attempts=1))[:EPISODES]
        cost = float("inf")
        for _ in range(rounds):
            before = _cpu()
            steps = asyncio.run(_played(episodes, agent))
            cost = min(cost, (_cpu() - before) / steps * 1000)
        found.append(cost)
    return found


async def _played(episodes: list[Episode], agent: Policy | str) -> int:
    """Play episodes and return how many steps they took."""
    return sum([len((await rollout(episode, agent=agent)).steps) for episode in episodes])


def _beside_bash(world: MachineWorld, rounds: int) -> list[Figure]:
    """CPU of a command line in an open shell of ours, and of starting `bash -c` for it: means over LINES."""
    state = world.open()
    _run(state, "cd /srv/tree")
    with TemporaryDirectory() as folder:
        for path, node in world.hosts["tree"].base.nodes.items():
            if path.startswith("/srv/tree/") and node.kind == "file":
                target = Path(folder, path.removeprefix("/srv/tree/"))
                target.parent.mkdir(exist_ok=True)
                target.write_bytes(node.content)

        def theirs(line: str) -> None:
            subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, check=True)

        def ours(line: str) -> None:
            _run(state, line)

        def engine(line: str) -> None:
            bare.execute_sync(line)

        def cost(work: Callable[[str], None], lines: Sequence[str]) -> float:
            return _best(lambda: [work(line) for line in lines], rounds) / len(lines) * 1000

        bare = _bare_engine(world)
        for line in LINES:
            ours(line)
        mine, real, floor = (cost(work, LINES) for work in (ours, theirs, engine))
        light = cost(theirs, LIGHT) / cost(ours, LIGHT * 40)
    return [
        Figure("command line in an open shell", mine, "ms", 2.0, floor=floor),
        Figure("  the same by the bare engine, over files of its own", floor, "ms"),
        Figure("  the same by `bash -c`", real, "ms"),
        Figure("  shell steps for one `bash -c`", real / mine, "x", 40.0, more=True),
        Figure("  the same for `pwd`, which reads nothing", light, "x"),
    ]


def _bare_engine(world: MachineWorld) -> Bash:
    """Return a shell of bashkit with its own commands and files, and nothing of ours."""
    nodes = world.hosts["tree"].base.nodes
    files = {
        path: node.content.decode() for path, node in nodes.items() if path.startswith("/srv/") and node.kind == "file"
    }
    bash = Bash(files={**files}, cwd="/srv/tree", profile=ExecutionProfile.Interactive)
    assert bash.execute_sync("ls d3 | wc -l").stdout == "10\n"
    return bash


def _keystrokes(rounds: int) -> list[Figure]:
    """CPU of typing a line of LINES at a terminal, with the screen that is returned; and of a look at a command that goes on."""
    state = _world("keystrokes").open()
    tool = state.world.tools[0]

    def press(keystrokes: str) -> None:
        state.answer(Request(tool, {"commands": [{"keystrokes": keystrokes, "duration": 1.0}]}, 0, 0))

    def lines() -> None:
        for line in LINES:
            press(f"{line}\n")

    def waits() -> None:
        press("for i in $(seq 30); do echo $i; sleep 1; done\n")
        for _ in range(WAITS):
            press("")
        press("C-c")

    press("cd /srv/tree\n")
    lines()
    return [
        Figure("keystroke step with its screen, the same lines", _best(lines, rounds) / len(LINES) * 1000, "ms", 3.0),
        Figure("  step that waits for a loop of thirty turns", _best(waits, rounds) / (WAITS + 2) * 1000, "ms"),
    ]


def _best(work: Callable[[], object], rounds: int) -> float:
    best = float("inf")
    for _ in range(rounds):
        before = _cpu(children=True)
        for _ in range(BARE):
            work()
        best = min(best, (_cpu(children=True) - before) / BARE)
    return best


class Typist(Policy):
    """Types LINES one after the other, without thinking."""

    def player(self, briefing: Briefing) -> Player:
        """One that has its messages ready."""
        return _Typing()


class _Typing:
    def __init__(self) -> None:
        self._lines = iter(enumerate(LINES))

    async def think(self, journal: Journal) -> Message:
        number, line = next(self._lines, (0, None))
        if line is None:
            return Message("ANSWER: done", answer="done")
        return Message(
            calls=(Action(f"call_{number}", "bash", {"command": f"cd /srv/exports; {line}".replace("d3/", "mill/")}),)
        )


if __name__ == "__main__":
    main()
