"""CPU of each line of the differential list in an open shell of a machine world, beside a `bash -c` for it over the same files."""

from __future__ import annotations

import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from statistics import median
from tempfile import TemporaryDirectory

import yaml
from report import Figure, options, show

sys.path.insert(0, str(Path(__file__).parents[1]))

from simtrain.contracts.request import Request
from simtrain.files.yaml_files import parse_document
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.machine.deep_threads import DeepThreads
from simtrain.worlds.machine.source import MachineSource
from simtrain.worlds.machine.world import MachineState, MachineWorld
from tests.worlds.machine.differential.entries import Entry, Tree, commands, tree
from tests.worlds.machine.differential.real_bash import ENVIRONMENT, write_tree

HOME = "/srv/home"
SECONDS = 20


def main() -> None:
    """Measure and print."""
    parser = options(__doc__ or "")
    parser.add_argument("--every", type=int, default=1, help="take every so-manieth line of the list only")
    chosen = parser.parse_args()
    # In a thread, as a run and a session carry out calls.
    with DeepThreads(1) as thread, TemporaryDirectory() as folder:
        work = thread.submit(_measured, commands()[:: chosen.every], Path(folder) / "home", chosen.rounds)
        show("machines: lines of the differential list", work.result(), as_json=chosen.json)


def _measured(lines: list[Entry], home: Path, rounds: int) -> list[Figure]:
    files = tree()
    state = _world(files).open()
    _run(state, f"cd {HOME}; echo a | head -n 1")
    # One after the other, so that a noisy minute of the machine meets both.
    costs = [(entry.text, _ours(state, entry, rounds), _theirs(files, entry, home, rounds)) for entry in lines]
    plain = [(ours, theirs) for text, ours, theirs in costs if "git" not in text and ".sh" not in text]
    every = [(ours, theirs) for _, ours, theirs in costs]
    return [
        Figure("lines of the list", len(every), ""),
        Figure("line in an open shell, median", median(ours for ours, _ in every), "ms", 2.0),
        Figure("  the same by `bash -c`", median(theirs for _, theirs in every), "ms"),
        Figure("lines for one `bash -c`, by the time of all", _of_sums(every), "x", 40.0, more=True),
        Figure("  without those that make a git repository first", _of_sums(plain), "x"),
        Figure("  median of all lines", median(theirs / ours for ours, theirs in every), "x"),
    ]


def _of_sums(costs: list[tuple[float, float]]) -> float:
    return sum(theirs for _, theirs in costs) / sum(ours for ours, _ in costs)


def _ours(state: MachineState, entry: Entry, rounds: int) -> float:
    """Milliseconds of a line in a fork whose shell is open."""

    def once() -> float:
        fork = state.fork()
        _run(fork, "pwd")
        spent = _spent(lambda: _run(fork, entry.text))
        fork.close()
        return spent

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


def _run(state: MachineState, command: str) -> None:
    state.answer(Request(state.world.tools[0], {"command": command}, 0, 0))


def _world(files: Tree) -> MachineWorld:
    """Return a world with the files of the list in HOME."""
    written: list[JsonValue] = [
        {
            "path": f"{HOME}/{path}",
            "base64": b64encode(content).decode(),
            "mode": "0755" if path in files.executable else "0644",
            "owner": "ann",
        }
        for path, content in files.contents().items()
    ]
    links: list[JsonValue] = [{"path": f"{HOME}/{path}", "link": target} for path, target in files.links.items()]
    text: JsonObject = {
        "kind": "machine",
        "name": "list",
        "hostname": "list",
        "user": "ann",
        "users": {"ann": {}},
        "environment": {name: value for name, value in ENVIRONMENT.items() if name != "PATH"},
        "files": [*written, *links],
    }
    document = parse_document(yaml.safe_dump(text), Path("list.yaml"))
    world = MachineSource.load(document).configured(document, {"actions": "bash"}, ()).build()
    assert isinstance(world, MachineWorld)
    return world


if __name__ == "__main__":
    main()
