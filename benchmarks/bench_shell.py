"""CPU of each line of the differential list in an open shell of a machine world, beside a `bash -c` for it over the same files.

The shell's engine without anything of ours, over files of its own, tells how far this can go: some lines it answers wrongly, and sooner.
"""

from __future__ import annotations

import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from statistics import median
from tempfile import TemporaryDirectory

import yaml
from bashkit import Bash, ExecutionProfile
from report import Figure, options, show

sys.path.insert(0, str(Path(__file__).parents[1]))

from simtrain.contracts.request import Request
from simtrain.files.yaml_files import parse_document
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.machine.deep_threads import DeepThreads
from simtrain.worlds.machine.source import MachineSource
from simtrain.worlds.machine.world import MachineState, MachineWorld
from tests.worlds.machine.differential import real_bash
from tests.worlds.machine.differential.entries import Entry, Tree, commands, tree
from tests.worlds.machine.differential.real_bash import ENVIRONMENT, write_tree

SECONDS = 20
_REPOSITORY = ("git", ".sh")
"""In the text of lines that make a git repository first."""
_WAITS = ("sleep", "timeout")
"""In the text of lines for which the engine alone waits on the host."""


def main() -> None:
    """Measure and print."""
    parser = options(__doc__ or "")
    parser.add_argument("--every", type=int, default=1, help="take every so-manieth line of the list only")
    chosen = parser.parse_args()
    # In a thread, as a run and a session carry out calls.
    with DeepThreads(1) as thread, TemporaryDirectory() as folder:
        work = thread.submit(_measured, commands()[:: chosen.every], Path(folder) / "home", chosen.rounds)
        show("machines: lines of the differential list", work.result(), as_json=chosen.json)


@dataclass(frozen=True, slots=True)
class _Cost:
    """Milliseconds of CPU for a line: in an open shell, by `bash -c`, in the engine alone; and whether the shell answers as bash does."""

    text: str
    ours: float
    theirs: float
    alone: float
    same: bool


def _measured(lines: list[Entry], home: Path, rounds: int) -> list[Figure]:
    files = tree()
    state = _world(files, home).open()
    _run(state, f"cd {home}; echo a | head -n 1")
    # One after the other, so that a noisy minute of the machine meets both.
    costs = [_cost(state, files, entry, home, rounds) for entry in lines]
    plain = [cost for cost in costs if not any(sign in cost.text for sign in _REPOSITORY)]
    alone = [cost for cost in plain if not any(sign in cost.text for sign in _WAITS)]
    return [
        Figure("lines of the list", len(costs), ""),
        Figure("  answered letter for letter as bash does", sum(cost.same for cost in costs), ""),
        Figure("line in an open shell, median", median(cost.ours for cost in costs), "ms", 2.0),
        Figure("  the same by `bash -c`", median(cost.theirs for cost in costs), "ms"),
        Figure("lines for one `bash -c`, by the time of all", _of_sums(costs), "x", 40.0, more=True),
        Figure("  median of all lines", median(cost.theirs / cost.ours for cost in costs), "x"),
        Figure("  without those that make a git repository first", _of_sums(plain), "x"),
        Figure(
            "  the engine alone, without those and `sleep`",
            sum(c.theirs for c in alone) / sum(c.alone for c in alone),
            "x",
        ),
    ]


def _of_sums(costs: list[_Cost]) -> float:
    return sum(cost.theirs for cost in costs) / sum(cost.ours for cost in costs)


def _cost(state: MachineState, files: Tree, entry: Entry, home: Path, rounds: int) -> _Cost:
    fork = state.fork()
    found = _run(fork, entry.text)
    fork.close()
    bash = real_bash.run(entry, files, home)
    same = found["stdout"] == bash.output.decode(errors="replace") and found["exit_code"] == bash.code
    waits = any(sign in entry.text for sign in (*_REPOSITORY, *_WAITS))
    return _Cost(
        entry.text,
        _ours(state, entry, rounds),
        _theirs(files, entry, home, rounds),
        0.0 if waits else _alone(files, entry, home, rounds),
        same,
    )


def _ours(state: MachineState, entry: Entry, rounds: int) -> float:
    """Milliseconds of a line in a fork whose shell is open."""

    def once() -> float:
        fork = state.fork()
        _run(fork, "pwd")
        spent = _spent(lambda: _run(fork, entry.text))
        fork.close()
        return spent

    return min(once() for _ in range(rounds))


def _alone(files: Tree, entry: Entry, home: Path, rounds: int) -> float:
    """Milliseconds of a line in the engine without anything of ours."""

    def once() -> float:
        engine = Bash(
            username="ann",
            cwd=str(home),
            env={**ENVIRONMENT, "HOME": str(home)},
            timeout_seconds=SECONDS,
            profile=ExecutionProfile.Interactive,
        )
        system = engine.fs()
        for folder in ["", *files.all_folders()]:
            system.mkdir(f"{home}/{folder}".rstrip("/"), True)
        for path, content in files.contents().items():
            system.write_file(f"{home}/{path}", content)
        engine.execute_sync(f"cd {home}; pwd")
        return _spent(lambda: engine.execute_sync(entry.text))

    return min(once() for _ in range(rounds))


def _theirs(files: Tree, entry: Entry, home: Path, rounds: int) -> float:
    """Milliseconds of starting bash for a line, with all that it starts."""
    environment = {**ENVIRONMENT, "HOME": str(home), "PWD": str(home)}

    def bash() -> object:
        return subprocess.run(
            ["bash", "-c", entry.text],
            cwd=home,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )

    def once() -> float:
        write_tree(files, home)
        return _spent(bash)

    return min(once() for _ in range(rounds))


def _spent(work: Callable[[], object]) -> float:
    before = _cpu()
    work()
    return (_cpu() - before) * 1000


def _cpu() -> float:
    return sum(use.ru_utime + use.ru_stime for use in (getrusage(RUSAGE_SELF), getrusage(RUSAGE_CHILDREN)))


def _run(state: MachineState, command: str) -> JsonObject:
    found = state.answer(Request(state.world.tools[0], {"command": command}, 0, 0)).structured
    assert found is not None, "a command leaves its output"
    return found


def _world(files: Tree, home: Path) -> MachineWorld:
    """Return a world with the files of the list in a folder."""
    places = ["", *(f"/{folder}" for folder in files.all_folders())]
    folders: list[JsonValue] = [{"path": f"{home}{place}", "directory": True, "owner": "ann"} for place in places]
    written: list[JsonValue] = [
        {
            "path": f"{home}/{path}",
            "base64": b64encode(content).decode(),
            "mode": "0755" if path in files.executable else "0644",
            "owner": "ann",
        }
        for path, content in files.contents().items()
    ]
    links: list[JsonValue] = [{"path": f"{home}/{path}", "link": target} for path, target in files.links.items()]
    text: JsonObject = {
        "kind": "machine",
        "name": "list",
        "hostname": "list",
        "user": "ann",
        "users": {"ann": {}},
        "environment": {name: value for name, value in ENVIRONMENT.items() if name != "PATH"},
        "files": [*folders, *written, *links],
    }
    document = parse_document(yaml.safe_dump(text), Path("list.yaml"))
    world = MachineSource.load(document).configured(document, {"actions": "bash"}, ()).build()
    assert isinstance(world, MachineWorld)
    return world


if __name__ == "__main__":
    main()
