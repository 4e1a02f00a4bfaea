"""The files that make tasks of a repository a family: a copy of the repository, its history, a world, a scenario and the tasks."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from simtrain.contracts.scenario import CONVENTIONS, REPAIR
from simtrain.values.errors import InputError
from simtrain.worlds.bugs.task import BugTask, task_lines
from simtrain.worlds.repositories.commits import past_of
from simtrain.worlds.repositories.folder import read_folder, readme_of
from simtrain.worlds.repositories.history import history_of

MOST_COMMITS = 60
"""What is older is in the first commit of the world's repository."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")
_USER = "robin"
_CLOCK = "2031-06-02T07:30:00Z"
_SETTINGS = ("pyproject.toml", "setup.cfg", "pytest.ini", "tox.ini", "conftest.py")
_WORLD = """\
kind: machine
name: {name}
description: The workstation of a developer, with the git repository of {name}.
clock: {{start: {clock}, per_step: 10s}}
hostname: bench
user: {user}
users: {{{user}: {{}}}}
directory: {directory}
packages: {{apt: {{python3: 3.14.0-1, git: 1:2.43.0-1}}}}
schema: |
  -- Tests that only graders run. They are on no machine.
  create table hidden_tests (path text primary key, content text not null);
  -- The commits of the repository that a case is about, from 0.
  create table past_commits (number integer primary key, sha text not null, subject text not null);
files:
  - {{path: /home/{user}/.gitconfig, content: "[user]\\n\\tname = Robin Vale\\n\\temail = {user}@bench.example\\n", owner: {user}}}
repositories:
  - {{path: {directory}, folder: repositories/{name}, owner: {user}}}
"""


def name_of(folder: Path) -> str:
    """Return the name of a repository's world: that of its folder, in letters that a name may have."""
    found = re.sub(r"[^a-z0-9]+", "_", folder.resolve().name.lower()).strip("_")
    return found if _NAME.fullmatch(found) else f"repository_{found}".strip("_")


def check_family_name(family: str) -> None:
    """Raise InputError for a name that cannot be one."""
    if _NAME.fullmatch(family) is None:
        raise InputError(f"{family!r} is no name of a family", remedy="write it like mylib_bugs", place="--family")


def family_files(
    place: Path,
    tasks: Sequence[BugTask],
    *,
    family: str,
    test_files: Sequence[str],
    only: Sequence[str],
    never_run: Sequence[str] = (),
) -> dict[Path, str | bytes]:
    """Return the files of a family by where they go, from the working folder. `only` names the tests that count, if not all,
    `never_run` those that are skipped.

    Raises InputError for a history that cannot be read.
    """
    name = name_of(place)
    folder, past = read_folder(place), past_of(place)
    directory = f"/home/{_USER}/{name}"
    top = Path("worlds/repositories")
    history = history_of(past.trees[-MOST_COMMITS:]).model_dump(mode="json", exclude_defaults=True)
    knobs = _knobs(directory, [*folder.files], test_files, only)
    if never_run:
        knobs["fails"] = " union all ".join("select '" + test.replace("'", "''") + "'" for test in never_run)
    scenario: dict[str, object] = {
        "name": family,
        "description": f"A user reports what {name} does wrong. Find the mistake, repair it, and break nothing else.",
        "world": {"use": name, "with": {"actions": "coding"}},
        "cases": {"tasks": f"{family}.jsonl", "directory": directory},
        "rubric": [{"use": "tests", "with": knobs}],
    }
    if readme_of(folder.files) is None:
        scenario["prompt"] = REPAIR.replace(CONVENTIONS, "")
    return {
        Path(f"worlds/{name}.yaml"): _WORLD.format(name=name, user=_USER, directory=directory, clock=_CLOCK),
        top / f"{name}.history.yaml": _yaml(history),
        **{top / name / path: content for path, content in folder.files.items()},
        Path(f"scenarios/{family}.yaml"): _yaml(scenario),
        Path(f"scenarios/{family}.jsonl"): task_lines(tasks),
    }


def _knobs(directory: str, files: Sequence[str], tests: Sequence[str], only: Sequence[str]) -> dict[str, object]:
    kept = ["tests/*"] if all(path.startswith("tests/") for path in tests) else sorted(tests)
    settings = [path for path in (readme_of(files), *_SETTINGS) if path in files]
    found: dict[str, object] = {
        "directory": directory,
        "hidden": "select path, content from hidden_tests",
        "tests": kept,
        "unchanged": [*kept, *settings],
    }
    return {**found, "only": [f"{path.partition('::')[0].rstrip('/')}*" for path in only]} if only else found


def _yaml(value: Mapping[str, object]) -> str:
    return yaml.safe_dump(dict(value), sort_keys=False, allow_unicode=True, width=150)
