"""From a folder to tasks: reads it, finds its history, checks its tests, and makes what was asked for."""

from pathlib import Path

from simtrain.contracts.sandbox import OpenSandbox
from simtrain.worlds.bugs.factory import BugFactory
from simtrain.worlds.bugs.healthy import healthy
from simtrain.worlds.bugs.test_runs import TestRunner
from simtrain.worlds.repositories.commits import trees_of
from simtrain.worlds.repositories.folder import read_folder


def open_factory(
    place: Path,
    sandbox: OpenSandbox,
    *,
    seed: int = 0,
    jobs: int = 2,
    tests: tuple[str, ...] = (),
    work: float = 60.0,
) -> BugFactory:
    """Return the factory of a repository whose tests all pass, within `work` seconds of computing. Raises InputError for any other."""
    folder = read_folder(place)
    trees = trees_of(folder)
    return BugFactory(healthy(folder, TestRunner(sandbox, tests, work)), trees, seed=seed, jobs=jobs)
