"""A patch of a mail on top of HEAD: applied as it is, or merged with what it was made for."""

from collections.abc import Mapping, Sequence

from simtrain.worlds.handlers.git.objects import TreeEntry
from simtrain.worlds.handlers.git.states import worktree_entries
from simtrain.worlds.machine.git.folder import FolderRepository
from simtrain.worlds.machine.git.patching import DoesNotApply, FilePatch, parsed, patched
from simtrain.worlds.machine.git.resetting import head_files
from simtrain.worlds.machine.git.session import GitSession
from simtrain.worlds.machine.git.three_way import Merged
from simtrain.worlds.machine.git.three_way import merge as merge_trees

_NEW_FILE = "100644"


class NoBase(Exception):
    """Raised where the repository lacks a file that a patch was made for."""


def applied(session: GitSession, text: str) -> tuple[Merged | None, list[str]]:
    """Return what a patch makes of the index; None, and git's refusals, where it does not apply."""
    repository = session.repository
    index, tree = repository.index(), worktree_entries(repository)
    refusals: list[str] = []
    files = dict(index)
    for one in parsed(text):
        wrong = _problem(one, index, tree)
        if wrong is not None:
            refusals.append(f"error: {one.path}: {wrong}")
            continue
        try:
            _change(repository, one, files)
        except DoesNotApply as failed:
            refusals.append(f"error: patch failed: {one.path}:{failed.line}")
            refusals.append(f"error: {one.path}: patch does not apply")
    return (None, refusals) if refusals else (_as_result(repository, files), [])


def _problem(one: FilePatch, index: Mapping[str, TreeEntry], tree: Mapping[str, TreeEntry]) -> str | None:
    if one.old is None:
        if one.new in index:
            return "already exists in index"
        return "already exists in working directory" if one.new in tree else None
    if one.old not in index:
        return "does not exist in index"
    return "does not match index" if tree.get(one.old) != index[one.old] else None


def _change(repository: FolderRepository, one: FilePatch, files: dict[str, TreeEntry]) -> None:
    """Carry a patch out in a list of files. Raises DoesNotApply."""
    entry = changed_entry(repository, one, files.get(one.old) if one.old is not None else None)
    if one.old is not None and not one.copied:
        files.pop(one.old, None)
    if one.new is not None and entry is not None:
        files[one.new] = entry


def changed_entry(repository: FolderRepository, one: FilePatch, before: TreeEntry | None) -> TreeEntry | None:
    """Return what a patch makes of a file; None where it deletes it. Raises DoesNotApply."""
    content = patched(repository.blob(before.sha) if before else b"", one)
    if one.new is None:
        return None
    return TreeEntry(one.new_mode or (before.mode if before else _NEW_FILE), repository.keep_blob(content))


def _as_result(repository: FolderRepository, files: Mapping[str, TreeEntry]) -> Merged:
    done = Merged(stages={(path, 0): entry for path, entry in files.items()})
    done.files = {path: (entry.mode, repository.blob(entry.sha)) for path, entry in files.items()}
    return done


def three_way(session: GitSession, text: str, name: str) -> tuple[Merged, list[str]]:
    """Merge a patch into HEAD by way of the files that it was made for; return also the lines on how those differ from HEAD.

    Raises NoBase, and DoesNotApply for a patch that does not even fit those.
    """
    repository, head = session.repository, head_files(session)
    found = parsed(text)
    base = base_of(repository, found, head)
    theirs = dict(base)
    try:
        for one in found:
            _change(repository, one, theirs)
    except DoesNotApply:
        raise NoBase(found[0].path) from None
    notes = [
        f"{'M' if path in head else 'A'}\t{path}" for path, entry in sorted(base.items()) if head.get(path) != entry
    ]
    return merge_trees(repository, base, head, theirs, names=("HEAD", name)), notes


def base_of(
    repository: FolderRepository, found: Sequence[FilePatch], head: Mapping[str, TreeEntry]
) -> dict[str, TreeEntry]:
    """Return the files that patches were made for. Raises NoBase for one that is not in the repository."""
    base: dict[str, TreeEntry] = {}
    for one in found:
        if one.old is None:
            continue
        ids = repository.with_prefix(one.old_id) if one.old_id else []
        blobs = [sha for sha in ids if repository.kind(sha) == "blob"]
        same = head.get(one.old)
        if not one.old_id and same is not None:
            blobs = [same.sha]
        if len(blobs) != 1:
            raise NoBase(one.old)
        base[one.old] = TreeEntry(one.old_mode or (same.mode if same else _NEW_FILE), blobs[0])
    return base
