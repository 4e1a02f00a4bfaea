"""A case about a repository as a Harbor folder of its own: the repository is in the container, its tests give the reward."""

import json
import re
import shutil
import sqlite3
from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import cast

from simtrain.contracts.scenario import Episode, Grading
from simtrain.contracts.trajectory import Trajectory
from simtrain.grading import trees
from simtrain.grading.checkout import files_in, placed
from simtrain.grading.graders.answer import Answer
from simtrain.grading.graders.final_state import FinalState
from simtrain.grading.graders.forbidden import Forbidden
from simtrain.grading.graders.mutants import Mutants
from simtrain.grading.graders.same_behaviour import SameBehaviour
from simtrain.grading.graders.tests import Tests
from simtrain.integrations.harbor import scripts
from simtrain.integrations.harbor.repository_solution import NeedsWorld, RepositorySolution, repository_solution
from simtrain.integrations.harbor.scripts import state
from simtrain.scenarios.beginning import world_of
from simtrain.values import normal_text
from simtrain.values.comparing import text_of
from simtrain.values.types import JsonObject
from simtrain.worlds.machine.setup import MachineSetup

_SCRIPTS = Path(scripts.__file__).parent
_RUN_SECONDS = 120
_FILES = "select path, kind, mode, content, base64, target from files where path like :below order by path"
DOCKERFILE = """FROM python:{python}
RUN pip install --no-cache-dir pytest=={pytest}
"""
ANSWER = """{prompt}

---

When you are done, write what you were asked for into the file `{file}`, on a line that starts with `ANSWER:` and has nothing
else; or, if the task cannot be done as it was asked, the reason on a line that starts with `CANNOT:`.
"""
_RepositoryGrader = Tests | SameBehaviour | Mutants
_Judged = Tests | SameBehaviour | Mutants | Answer | FinalState | Forbidden


@dataclass(frozen=True, slots=True)
class RepositoryCase:
    """A case whose repository and tests are all that its folder needs."""

    found: Episode
    world: MachineSetup
    directory: str
    solution: RepositorySolution

    @property
    def seconds(self) -> int:
        """Return how long its tests may take, in seconds."""
        return 60 + _RUN_SECONDS * sum(_runs(self.found, self.world, each) for each in self.found.scenario.grading)

    @property
    def answer_file(self) -> str | None:
        """Return where the answer goes; None if nobody asks for one."""
        asks = any(isinstance(item.grader, Answer) for item in self.found.scenario.grading)
        return f"{_home(self.world)}/answer.txt" if asks else None

    def instruction(self, prompt: str) -> str:
        """Return what the agent is told: the prompt, and where the answer goes."""
        return f"{prompt}\n" if self.answer_file is None else ANSWER.format(prompt=prompt, file=self.answer_file)

    def write(self, place: Path) -> None:
        """Write `environment`, `tests` and `solution` into a folder."""
        self._environment(place / "environment")
        self._tests(place / "tests")
        self.solution.write(place / "solution", self.directory, self.answer_file)

    def _environment(self, place: Path) -> None:
        home = _home(self.world)
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
        for name in ("verify.py", "run_tests.py", "state.py"):
            shutil.copy(_SCRIPTS / name, place / name)
        for module in (trees, normal_text):
            shutil.copy(str(module.__file__), place)
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
        grader, case = cast("_Judged", item.grader), self.found.case
        if isinstance(grader, Answer):
            gold = text_of(grader.gold(self.world, case)).strip()
            return {"use": "answer", "form": grader.form, "gold": gold, "file": self.answer_file}
        if isinstance(grader, FinalState | Forbidden):
            return state_facts(grader, self.world, self.found, self.directory)
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
        if not _is_judged(item.grader):
            raise NeedsWorld(f"the grader `{item.label}` needs what simtrain records")
    if scenario.perturbations:
        raise NeedsWorld("its perturbations act in simtrain alone")
    if scenario.spec.user is not None:
        raise NeedsWorld("its user answers in simtrain alone")
    if not isinstance(world, MachineSetup):
        raise NeedsWorld(f"its world {world.name} is no machine")
    graders = [item.grader for item in scenario.grading]
    named = {placed(grader.directory, found.case) for grader in graders if isinstance(grader, _RepositoryGrader)}
    # Where no tests are run, the case of a task says which it is.
    if not named and "directory" in found.case:
        named = {str(found.case["directory"])}
    if len(named) != 1:
        raise NeedsWorld(f"it has {len(named)} repositories")
    directory = named.pop()
    _require_plain(world, directory)
    solution = repository_solution(solved, directory)
    left = solution.left(world.query(_FILES, {"below": f"{directory}/%"}))
    for item in scenario.grading:
        if isinstance(item.grader, FinalState | Forbidden):
            _require_answered(item.label, state_facts(item.grader, world, found, directory), left)
    return RepositoryCase(found, world, directory, solution)


def state_facts(grader: FinalState | Forbidden, world: MachineSetup, found: Episode, directory: str) -> JsonObject:
    """Return what is asked about the files, and the rows of the author's tables that are named there."""
    expect, forbidden = (grader.expect, ()) if isinstance(grader, FinalState) else ((), grader.sql)
    words = set(re.findall(r"\w+", " ".join((*expect, *forbidden))))
    own = sorted((set(world.columns()) & words) - {"files"})
    return {
        "use": "state",
        "directory": directory,
        "case": {**found.case},
        "expect": [*expect],
        "forbidden": [*forbidden],
        "schema": world.spec.tables,
        "rows": {table: [[*row.values()] for row in world.query(f'select * from "{table}"', {})] for table in own},
    }


def _is_judged(grader: object) -> bool:
    """Return whether the folder can ask what a grader asks."""
    if isinstance(grader, Answer):
        return grader.form in ("exact", "text")
    if isinstance(grader, FinalState):
        return not grader.changes and (grader.changes_only is None or "files" in grader.changes_only)
    if isinstance(grader, Forbidden):
        return not grader.tables and not grader.tools
    return isinstance(grader, _RepositoryGrader)


def _require_answered(label: str, facts: JsonObject, left: Iterable[state.Row]) -> None:
    """Raise NeedsWorld if the files that the solution leaves do not say what a grader asks."""
    try:
        problem = state.problem(state.opened(left, facts), facts)
    except sqlite3.Error as error:
        problem = str(error)
    if problem:
        raise NeedsWorld(f"the grader `{label}` asks for more than the files of the repository ({problem})")


def _home(world: MachineSetup) -> str:
    return world.hosts[world.spec.hostname].users[world.spec.user].home


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
    home = _home(world)
    for path in (directory, *(one.path for one in spec.files)):
        if not path.startswith(f"{home}/"):
            raise NeedsWorld(f"its world has {path}, which is not in the home {home}")


def _runs(found: Episode, world: MachineSetup, item: Grading) -> int:
    if isinstance(item.grader, Mutants):
        return 1 + len(item.grader.made(world, found.case))
    return 2 if isinstance(item.grader, SameBehaviour) else 1 if isinstance(item.grader, Tests) else 0


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
