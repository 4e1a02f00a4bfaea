"""From a folder to tasks: reads it, finds its history, checks its tests, and makes what was asked for."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from simtrain.contracts.registry import resolve
from simtrain.contracts.sandbox import OpenSandbox, SandboxBackend
from simtrain.values.errors import InputError
from simtrain.worlds.bugs.factory import BugFactory
from simtrain.worlds.bugs.healthy import healthy
from simtrain.worlds.bugs.test_runs import TestRunner
from simtrain.worlds.repositories.folder import RepositoryFolder, read_folder
from simtrain.worlds.repositories.history import CommittedTree, committed_trees, history_file, read_history


def trees_of(folder: RepositoryFolder) -> list[CommittedTree]:
    """Return the commits of a repository with their trees: of the file beside it, else of its `.git`; none without either."""
    file = history_file(folder.place)
    if file.is_file():
        try:
            return committed_trees(folder.texts, read_history(file))
        except InputError as error:
            raise error.at(file=file) from None
    if (folder.place / ".git").is_dir():
        from simtrain.worlds.repositories.git_history import git_trees

        return git_trees(folder.place)
    return []


@contextmanager
def opened_sandbox(name: str) -> Generator[OpenSandbox]:
    """Open a sandbox by name. Raises InputError, with the remedy, if it does not work here."""
    backend: SandboxBackend = resolve("sandboxes", name)()
    with backend.opened() as sandbox:
        yield sandbox


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
