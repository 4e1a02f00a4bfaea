"""The history of a `.git` folder, read from its objects alone: no program, hook or filter that the folder names is run."""

from itertools import islice
from pathlib import Path
from typing import Any

from simtrain.values.clock import stamp
from simtrain.values.errors import InputError
from simtrain.values.extras import require
from simtrain.worlds.repositories.history import CommittedTree, PastCommit

MOST_COMMITS = 200
"""So many commits back from HEAD are looked at: older ones hardly ever fit today's files."""
_MOST_BYTES = 1 << 20


def git_trees(place: Path) -> list[CommittedTree]:
    """Return the first-parent history of HEAD, the oldest first, with the Python files of each commit.

    Raises InputError if the folder cannot be read, or without the extra `git`.
    """
    require("git", "pygit2", by=f"reading {place / '.git'}")
    import pygit2

    try:
        repository: Any = pygit2.Repository(str(place / ".git"))
        if repository.is_empty or repository.head_is_unborn:
            return []
        found: list[CommittedTree] = []
        seen: dict[str, dict[str, str]] = {}
        commit = repository.head.peel(pygit2.Commit)
        walker = repository.walk(commit.id, pygit2.enums.SortMode.TOPOLOGICAL)
        walker.simplify_first_parent()
        for one in islice(walker, MOST_COMMITS):
            author = f"{one.author.name} <{one.author.email}>"
            told = PastCommit(author=author, date=stamp(one.commit_time), message=one.message.strip() or "(no message)")
            found.append(CommittedTree(told, _files(one.tree, "", seen)))
        return found[::-1]
    except (pygit2.GitError, KeyError, ValueError) as error:
        raise InputError(
            f"the history cannot be read: {error}", remedy="give a copy of the folder without .git", file=place / ".git"
        ) from None


def _files(tree: Any, prefix: str, seen: dict[str, dict[str, str]]) -> dict[str, str]:
    """Return the Python files below a tree. The same tree at the same place, in many commits, is read once."""
    key = f"{prefix}{tree.id}"
    if key in seen:
        return seen[key]
    found: dict[str, str] = {}
    for entry in tree:
        if entry.type_str == "tree":
            found |= _files(entry, f"{prefix}{entry.name}/", seen)
        elif entry.type_str == "blob" and entry.name.endswith(".py") and entry.size <= _MOST_BYTES:
            try:
                found[f"{prefix}{entry.name}"] = entry.data.decode("utf-8")
            except UnicodeDecodeError:
                continue
    seen[key] = found
    return found
