"""The commits of a folder, wherever they are told: in the file beside it, or in its `.git`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from simtrain.values.errors import InputError
from simtrain.worlds.repositories.folder import RepositoryFolder, read_folder
from simtrain.worlds.repositories.history import (
    CommittedTree,
    PastCommit,
    committed_trees,
    history_file,
    read_history,
)

_ONLY = PastCommit(author="Robin Vale <robin@bench.example>", date="2030-01-07T09:00:00Z", message="Import")


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


@dataclass(frozen=True, slots=True)
class CommittedPast:
    """The commits of a folder, and its files that are no text or stand in no commit: they come with the first."""

    trees: Sequence[CommittedTree]
    further: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


def past_of(folder: Path) -> CommittedPast:
    """Return the commits of a folder. Raises InputError for a history that does not fit."""
    found = read_folder(folder)
    trees = trees_of(found) or [CommittedTree(_ONLY, found.texts)]
    today = {path: text for path, text in found.texts.items() if path in trees[-1].files or path.endswith(".py")}
    if today != dict(trees[-1].files):
        # What stands in the folder of a `.git` without having been committed.
        last = trees[-1].commit.model_copy(update={"message": "Changes since then"})
        trees = [*trees, CommittedTree(last, today)]
    return CommittedPast(trees, {path: content for path, content in found.files.items() if path not in trees[-1].files})
