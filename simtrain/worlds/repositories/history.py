"""The history of a repository: its commits, each with what it changed; older trees follow from the files of today."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from pydantic import Field

from simtrain.files.file_model import FileModel, Instant
from simtrain.files.yaml_files import read_document
from simtrain.values.errors import InputError
from simtrain.worlds.repositories.patches import applied, patch_between


class PastCommit(FileModel):
    """One commit: the files that it added, which later commits have changed into what they are today, and its patch to others."""

    author: str = Field(min_length=1, description="The author, as `Name <address>`.")
    date: Instant
    message: str = Field(min_length=1, description="The message; its first line is the subject.")
    adds: list[str] = Field(default_factory=list[str], description="The files that were new.")
    changes: str = Field(default="", description="The patch to other files, as `git diff` writes it.")

    @property
    def subject(self) -> str:
        """The first line of the message."""
        return self.message.partition("\n")[0]


class History(FileModel):
    """A `NAME.history.yaml` beside the folder NAME: all commits, the oldest first."""

    commits: list[PastCommit] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class CommittedTree:
    """A commit, and the text files as it left them."""

    commit: PastCommit
    files: dict[str, str]


def read_history(file: Path) -> History:
    """Read a file of commits. Raises InputError with the line."""
    return read_document(file).parse(History)


def history_file(folder: Path) -> Path:
    """Return where the history of a repository's folder lies."""
    return folder.with_name(f"{folder.name}.history.yaml")


def history_of(trees: Sequence[CommittedTree]) -> History:
    """Return the commits of some trees as a file holds them: the reverse of `committed_trees`."""
    commits = [trees[0].commit.model_copy(update={"adds": [], "changes": ""})]
    for before, tree in pairwise(trees):
        adds = sorted({*tree.files} - {*before.files})
        kept = {path: text for path, text in tree.files.items() if path not in adds}
        commits.append(tree.commit.model_copy(update={"adds": adds, "changes": patch_between(before.files, kept)}))
    return History(commits=commits)


def committed_trees(files: Mapping[str, str], history: History) -> list[CommittedTree]:
    """Return the tree of each commit, the oldest first: the files of today with later commits taken back.

    Raises InputError naming the commit that does not fit. The first commit adds whatever others do not.
    """
    found: list[CommittedTree] = []
    tree = dict(files)
    for place in reversed(range(len(history.commits))):
        commit = history.commits[place]
        found.append(CommittedTree(commit, tree))
        try:
            tree = applied(tree, commit.changes, back=True)
        except InputError as error:
            raise error.at(place=f"commits[{place}].changes") from None
        for path in commit.adds:
            if path not in tree:
                raise InputError(f"there is no {path} to take back", place=f"commits[{place}].adds")
            del tree[path]
    return found[::-1]
