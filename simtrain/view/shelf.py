"""The runs that are looked at: run folders, and those in folders of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from simtrain.contracts.domain import Domain
from simtrain.contracts.registry import resolve
from simtrain.runs.run_folder import RUN_FILE, read_facts
from simtrain.runs.run_index import RunIndex
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject

DEEPEST = 3
"""Levels of folders below a given one in which runs are looked for."""


@dataclass(frozen=True)
class ShelvedRun:
    """A run that is looked at: its name in addresses, its folder, its run.json, and its index.

    `mark` tells its run.json from one that another run has put in its place.
    """

    name: str
    path: Path
    facts: JsonObject
    index: RunIndex
    mark: tuple[int, ...]

    @property
    def agent(self) -> str:
        """Return the agent that played it."""
        return str(self.facts["agent"].get("name", ""))

    def domain_of(self, scenario: str) -> Domain:
        """Return the domain whose tools a scenario offers."""
        entries = (entry for entry in self.facts["scenarios"] if entry["name"] == scenario)
        name = next((str(entry.get("domain", "mcp")) for entry in entries), "mcp")
        try:
            return resolve("domains", name)()
        except InputError:
            # Of a package that is not installed here: replies are drawn as those of any tool.
            return resolve("domains", "mcp")()


class RunShelf:
    """All runs in some folders. New ones appear when they are asked for again."""

    def __init__(self, paths: Sequence[Path]) -> None:
        """Raises InputError if one of the paths holds no run."""
        self._paths = paths
        self._runs: dict[Path, ShelvedRun] = {}
        for path in paths:
            if not any(_folders(path)):
                raise InputError(
                    "there is no run in this folder", remedy="name a folder that `simtrain run` has written", file=path
                )
        self.runs()

    def runs(self) -> list[ShelvedRun]:
        """Return every run, in the order of the folders: those that are there now."""
        there = {path.resolve(): (root, path) for root in self._paths for path in _folders(root)}
        self._runs = {place: run for place, run in self._runs.items() if place in there}
        for place, (root, path) in there.items():
            known = self._runs.get(place)
            if known is None or known.mark != _mark(path):
                name = known.name if known else self._name(root, path)
                self._runs[place] = ShelvedRun(name, path, read_facts(path), RunIndex(path), _mark(path))
        return list(self._runs.values())

    def run(self, name: str) -> ShelvedRun | None:
        """Return the run of a name; None if there is none."""
        found = self._named(name)
        if found is not None and found.mark != _mark(found.path):
            self.runs()
            found = self._named(name)
        return found

    def _named(self, name: str) -> ShelvedRun | None:
        return next((run for run in self._runs.values() if run.name == name), None)

    def _name(self, root: Path, path: Path) -> str:
        """Return the name of a run in addresses: its path below the folder that was given, with a number where another has it.

        So it does not depend on which other runs there are in that folder.
        """
        taken = {run.name for run in self._runs.values()}
        below = path.relative_to(root).as_posix() if path != root else path.resolve().name
        names = (below if number == 1 else f"{below}-{number}" for number in range(1, len(taken) + 2))
        return next(name for name in names if name not in taken)


def _mark(path: Path) -> tuple[int, ...]:
    try:
        status = (path / RUN_FILE).stat()
    except FileNotFoundError:
        return ()
    return (status.st_dev, status.st_ino, status.st_mtime_ns)


def _folders(root: Path, depth: int = 0) -> Iterator[Path]:
    if (root / RUN_FILE).is_file():
        yield root
    elif depth <= DEEPEST and root.is_dir():
        for folder in sorted(one for one in root.iterdir() if one.is_dir() and not one.name.startswith(".")):
            yield from _folders(folder, depth + 1)
