"""A case about a repository as a Harbor folder of its own: the repository is in the container, its tests give the reward."""

import json
import shutil
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import cast

from simtrain.contracts.scenario import Episode, Grading
from simtrain.contracts.trajectory import Trajectory
from simtrain.grading import trees
from simtrain.grading.checkout import files_in, placed
from simtrain.grading.graders.mutants import Mutants
from simtrain.grading.graders.same_behaviour import SameBehaviour
from simtrain.grading.graders.tests import Tests
from simtrain.integrations.harbor import scripts
from simtrain.scenarios.beginning import world_of
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.machine.setup import MachineSetup
from simtrain.worlds.repositories.patches import patch_between

_SCRIPTS = Path(scripts.__file__).parent
_RUN_SECONDS = 120
_FILES = "select path, kind, mode, content, base64, target from files where path like :below order by path"
DOCKERFILE = """FROM python:{python}
RUN pip install --no-cache-dir pytest=={pytest}
"""
SOLVE = """#!/bin/bash
cd {directory} && patch -p1 < /solution/fix.patch
"""
_RepositoryGrader = Tests | SameBehaviour | Mutants


class NeedsWorld(Exception):
    """Why a case about a repository cannot stand in a folder of its own."""


@dataclass(frozen=True, slots=True)
class RepositoryCase:
    """A case whose repository and tests are all that its folder needs."""

    found: Episode
    world: MachineSetup
    directory: str
    solution: str
    """The patch from what the agent gets to what the reference plan leaves."""

    @property
    def seconds(self) -> int:
        """Return how long its tests may take, in seconds."""
        return 60 + _RUN_SECONDS * sum(_runs(self.found, self.world, each) for each in self.found.scenario.grading)

    def write(self, place: Path) -> None:
        """Write `environment`, `tests` and `solution` into a folder."""
        self._environment(place / "environment")
        self._tests(place / "tests")
        solution = place / "solution"
        solution.mkdir()
        (solution / "fix.patch").write_text(self.solution)
        _script(solution / "solve.sh", SOLVE.format(directory=self.directory))

    def _environment(self, place: Path) -> None:
        home = self.world.hosts[self.world.spec.hostname].users[self.world.spec.user].home
        others = [one.path for one in self.world.spec.repositories if one.path != self.directory]
        rows = [
            row
            for row in self.world.query(_FILES, {"below": f"{home}/%"})
            if not any(f"{row['path']}/".startswith(f"{other}/") for other in others)
        ]
        git = f"{self.directory}/.git"
        parts: dict[str, list[JsonObject]] = {"history": [], "repository": [], "home": []}
        for row in rows:
            path = f"{row['path']}/"
            name = "history" if path.startswith(f"{git}/") else "repository"
            parts[name if path.startswith(f"{self.directory}/") else "home"].append(row)
        tops = {"history": git, "repository": self.directory, "home": home}
        lines = [DOCKERFILE.format(python=_python(self.world), pytest=version("pytest")), f"ENV HOME={home}\n"]
        for name, wanted in reversed(parts.items()):
            if any(row["kind"] != "directory" for row in wanted):
                _write_files(place / name, tops[name], wanted)
                # A folder of the name .git would be lost where these folders are kept in a repository.
                lines.append(f"COPY {name} {tops[name]}\n")
        lines.append(f"WORKDIR {self.directory}\n")
        (place / "Dockerfile").write_text("".join(lines))

    def _tests(self, place: Path) -> None:
        place.mkdir()
        for name in ("verify.py", "run_tests.py"):
            shutil.copy(_SCRIPTS / name, place / name)
        shutil.copy(trees.__file__, place / "trees.py")
        _script(place / "test.sh", (_SCRIPTS / "test.sh").read_text())
        _write(place / "repository", files_in(self.world, self.directory))
        rubric = self.found.scenario.spec.rubric
        graders: list[JsonObject] = []
        for number, item in enumerate(self.found.scenario.grading):
            facts = self._facts(item, place / str(number))
            graders.append({**facts, "weight": item.weight, "gate": item.gate})
        case: JsonObject = {"directory": self.directory, "combine": rubric.combine, "graders": [*graders]}
        (place / "case.json").write_text(json.dumps(case, indent=2) + "\n")

    def _facts(self, item: Grading, place: Path) -> JsonObject:
        """Return what is asked, and write the files that it needs."""
        grader, case = cast("_RepositoryGrader", item.grader), self.found.case
        if isinstance(grader, SameBehaviour):
            _write(place, {"program.py": grader.text(self.world, case).encode()})
            return {"use": "same_behaviour"}
        if isinstance(grader, Mutants):
            made = grader.made(self.world, case)
            for number, files in enumerate(made.values()):
                _write(place / str(number), files)
            return {"use": "mutants", "tests": [*grader.tests], "mutants": [*made]}
        _write(place / "hidden", grader.hidden_tests(self.world, case))
        return {
            "use": "tests",
            "tests": [*grader.tests],
            "unchanged": [*grader.unchanged],
            "only": [*grader.only],
            "passed_over": [*sorted(grader.passed_over(self.world, case))],
        }


def is_of_repository(found: Episode) -> bool:
    """Return whether a case is about a repository, whose tests are run for the reward."""
    return found.scenario.spec.domain == "swe" or any(
        isinstance(item.grader, _RepositoryGrader) for item in found.scenario.grading
    )


def repository_case(found: Episode, solved: Trajectory) -> RepositoryCase:
    """Return a case as a folder of its own. Raises NeedsWorld where something in it needs simtrain."""
    scenario, world = found.scenario, world_of(found)
    for item in scenario.grading:
        if not isinstance(item.grader, _RepositoryGrader):
            raise NeedsWorld(f"the grader `{item.label}` needs what simtrain records")
    if scenario.perturbations:
        raise NeedsWorld("its perturbations act in simtrain alone")
    if scenario.spec.user is not None:
        raise NeedsWorld("its user answers in simtrain alone")
    if not isinstance(world, MachineSetup):
        raise NeedsWorld(f"its world {world.name} is no machine")
    graders = [cast("_RepositoryGrader", item.grader) for item in scenario.grading]
    directories = {placed(grader.directory, found.case) for grader in graders}
    if len(directories) != 1:
        raise NeedsWorld(f"it has {len(directories)} repositories")
    directory = directories.pop()
    _require_plain(world, directory)
    changed: dict[str, tuple[str | None, str | None]] = {}
    for change in solved.changes.get("files", ()):
        row = cast("Mapping[str, JsonValue]", change.after or change.before)
        path = str(row["path"])
        if row["kind"] == "directory" or trees.is_cached(path.removeprefix("/")):
            if path.startswith(f"{directory}/.git/"):
                raise NeedsWorld("its solution is made of commits")
            continue
        if not path.startswith(f"{directory}/"):
            continue
        inner = path.removeprefix(f"{directory}/")
        changed[inner] = (_text(change.before), _text(change.after))
    old = {path: before for path, (before, _) in changed.items() if before is not None}
    new = {path: after for path, (_, after) in changed.items() if after is not None}
    return RepositoryCase(found, world, directory, patch_between(old, new))


def _require_plain(world: MachineSetup, directory: str) -> None:
    """Raise NeedsWorld for a machine with more than files in the home of whoever works there."""
    spec = world.spec
    parts = {
        "further machines": spec.machines,
        "services": spec.services,
        "processes": spec.processes,
        "cron jobs": spec.cron,
        "databases": spec.databases,
        "commands of its own": spec.commands,
        "tools of its own": spec.tools,
        "a package index": spec.index.pip or spec.index.apt or spec.packages.get("pip"),
    }
    for name, part in parts.items():
        if part:
            raise NeedsWorld(f"its world has {name}")
    home = world.hosts[spec.hostname].users[spec.user].home
    for path in (directory, *(one.path for one in spec.files)):
        if not path.startswith(f"{home}/"):
            raise NeedsWorld(f"its world has {path}, which is not in the home {home}")


def _text(row: Mapping[str, JsonValue] | None) -> str | None:
    if row is None:
        return None
    if row.get("base64") or row["kind"] != "file":
        raise NeedsWorld(f"its solution changes {row['path']}, which is no text")
    return str(row["content"] or "")


def _runs(found: Episode, world: MachineSetup, item: Grading) -> int:
    if isinstance(item.grader, Mutants):
        return 1 + len(item.grader.made(world, found.case))
    return 2 if isinstance(item.grader, SameBehaviour) else 1


def _python(world: MachineSetup) -> str:
    """Return the version of Python in an image: that of the world, such as 3.14 of 3.14.0-1."""
    return ".".join(world.spec.packages.get("apt", {}).get("python3", "3.14").split(".")[:2])


def _write_files(place: Path, top: str, rows: Sequence[JsonObject]) -> None:
    place.mkdir(parents=True)
    for row in rows:
        goal = place / str(row["path"]).removeprefix(top).lstrip("/")
        if row["kind"] == "directory":
            goal.mkdir(parents=True, exist_ok=True)
            continue
        goal.parent.mkdir(parents=True, exist_ok=True)
        if row["kind"] == "link":
            goal.symlink_to(str(row["target"]))
            continue
        content = row["base64"]
        goal.write_bytes(b64decode(str(content)) if content else str(row["content"] or "").encode())
        goal.chmod(0o755 if int(str(row["mode"]), 8) & 0o100 else 0o644)


def _write(place: Path, files: Mapping[str, bytes]) -> None:
    for path, content in files.items():
        goal = place / path
        goal.parent.mkdir(parents=True, exist_ok=True)
        goal.write_bytes(content)


def _script(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)
