"""The states of a repository that diffs compare: a commit, the index, the working tree."""

from collections.abc import Collection, Mapping

from simtrain.worlds.handlers.git.deltas import Delta, Side, deltas
from simtrain.worlds.handlers.git.objects import EMPTY_TREE, TreeEntry, blob_id
from simtrain.worlds.handlers.git.repository import Repository


def head_tree(repository: Repository) -> str:
    """Return the tree of the commit at HEAD; the empty tree before the first commit."""
    sha = repository.ref("HEAD")
    return repository.commit(sha).tree if sha else EMPTY_TREE


def worktree_entries(repository: Repository) -> dict[str, TreeEntry]:
    """Return the files of the working tree as the index would hold them."""
    return {path: TreeEntry(mode, blob_id(content)) for path, (mode, content) in repository.worktree().items()}


def staged(repository: Repository) -> list[Delta]:
    """Return the differences from HEAD to the index."""
    return compared(repository, repository.files(head_tree(repository)), repository.index())


def compared(repository: Repository, old: Mapping[str, TreeEntry], new: Mapping[str, TreeEntry]) -> list[Delta]:
    """Return the differences from one set of stored files to another."""
    touched = [path for path in {**old, **new} if old.get(path) != new.get(path)]
    return deltas(_stored(repository, old, touched), _stored(repository, new, touched))


def against_worktree(
    repository: Repository, old: Mapping[str, TreeEntry], *, conflicts: Collection[str] = ()
) -> list[Delta]:
    """Return the differences from stored files to the files of the working tree that are in the index, or in conflict."""
    index = {*repository.index(), *conflicts}
    tree = repository.worktree()
    # git's diffs leave untracked files out.
    now = {
        path: Side(path, TreeEntry(mode, blob_id(content)), content)
        for path, (mode, content) in tree.items()
        if path in index
    }
    touched = [path for path in {**old, **now} if path not in now or old.get(path) != now[path].entry]
    return deltas(_stored(repository, old, touched), {path: now[path] for path in touched if path in now})


def _stored(repository: Repository, files: Mapping[str, TreeEntry], paths: list[str]) -> dict[str, Side]:
    return {
        path: Side(path, files[path], repository.blob(files[path].sha))
        for path in sorted(paths, key=lambda one: one.encode())
        if path in files
    }
