"""Merging three states of a tree; lines are merged by libgit2, with git's own code."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import pygit2

from simtrain.worlds.handlers.git.deltas import is_binary
from simtrain.worlds.handlers.git.objects import TreeEntry
from simtrain.worlds.machine.git.folder import FolderRepository

_OURS = re.compile(rb"^<<<<<<< .*$", re.MULTILINE)
_THEIRS = re.compile(rb"^>>>>>>> .*$", re.MULTILINE)


@dataclass(slots=True)
class Merged:
    """The result: the entries of the index by path and stage, the files to be written, and what git says of it."""

    stages: dict[tuple[str, int], TreeEntry] = field(default_factory=dict[tuple[str, int], TreeEntry])
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict[str, tuple[str, bytes]])
    notes: list[str] = field(default_factory=list[str])
    conflicts: list[str] = field(default_factory=list[str])


class _Store(pygit2.OdbBackend):
    """Objects for libgit2, in memory."""

    def __init__(self) -> None:
        super().__init__()  # pyright: ignore[reportUnknownMemberType]
        self.held: dict[str, tuple[int, bytes]] = {}

    def read_cb(self, oid: pygit2.Oid) -> tuple[int, bytes]:
        return self.held[str(oid)]

    def exists_cb(self, oid: pygit2.Oid) -> bool:
        return str(oid) in self.held


def merged_lines(
    base: TreeEntry | None, ours: TreeEntry, theirs: TreeEntry, repository: FolderRepository
) -> tuple[bool, bytes]:
    """Return whether two changed files can be merged, and the content, with git's marks where not."""
    store, odb = _Store(), pygit2.Odb()
    odb.add_backend(store, 1)
    engine = pygit2.Repository()
    engine.set_odb(odb)

    def entry(one: TreeEntry | None) -> pygit2.IndexEntry | None:
        if one is None:
            return None
        store.held[one.sha] = (int(pygit2.enums.ObjectType.BLOB), repository.blob(one.sha))
        return pygit2.IndexEntry("file", pygit2.Oid(hex=one.sha), pygit2.enums.FileMode.BLOB)

    result = engine.merge_file_from_index(entry(base), entry(ours), entry(theirs), use_deprecated=False)
    assert result is not None
    return result.automergeable, result.contents.encode("utf-8", "surrogateescape")


def merge(
    repository: FolderRepository,
    base: Mapping[str, TreeEntry],
    ours: Mapping[str, TreeEntry],
    theirs: Mapping[str, TreeEntry],
    *,
    names: tuple[str, str],
    favour: str | None = None,
) -> Merged:
    """Return what comes of merging two trees that go back to a common one. `names` stand in the marks of conflicts.

    `favour` is the side, `ours` or `theirs`, whose lines are taken where lines are in conflict.
    """
    found = Merged()
    for path in sorted({*base, *ours, *theirs}, key=lambda one: one.encode()):
        before, left, right = base.get(path), ours.get(path), theirs.get(path)
        if left == right or right == before:
            chosen = left
        elif left == before:
            chosen = right
        else:
            chosen = _conflicting(repository, path, before, left, right, found, names, favour)
            if chosen is None:
                continue
        if chosen is not None:
            found.stages[path, 0] = chosen
            found.files[path] = (chosen.mode, repository.blob(chosen.sha))
    return found


def _conflicting(
    repository: FolderRepository,
    path: str,
    before: TreeEntry | None,
    left: TreeEntry | None,
    right: TreeEntry | None,
    found: Merged,
    names: tuple[str, str],
    favour: str | None,
) -> TreeEntry | None:
    """Return the merged entry of a path that both sides changed; None where that is a conflict, which is noted."""
    if left is not None and right is not None:
        binary = any(is_binary(repository.blob(one.sha)) for one in (left, right))
        found.notes.append(f"Auto-merging {path}")
        clean, content = (False, repository.blob(left.sha)) if binary else merged_lines(before, left, right, repository)
        mode = right.mode if before is not None and left.mode == before.mode else left.mode
        if favour is not None and not clean:
            chosen = left if favour == "ours" else right
            content = repository.blob(chosen.sha) if binary else _favoured(content, favour)
            clean = True
        if clean:
            return TreeEntry(mode, repository.keep_blob(content))
        if not binary:
            content = _THEIRS.sub(f">>>>>>> {names[1]}".encode(), _OURS.sub(f"<<<<<<< {names[0]}".encode(), content))
        kind = "content" if before is not None else "add/add"
        if binary:
            found.notes.append(f"warning: Cannot merge binary files: {path} ({names[0]} vs. {names[1]})")
        found.notes.append(f"CONFLICT ({kind}): Merge conflict in {path}")
        found.files[path] = (mode, content)
    else:
        kept = left or right
        assert kept is not None
        gone, stays = (names[0], names[1]) if left is None else (names[1], names[0])
        found.notes.append(
            f"CONFLICT (modify/delete): {path} deleted in {gone} and modified in {stays}.  Version {stays} of {path} left in tree."
        )
        found.files[path] = (kept.mode, repository.blob(kept.sha))
    found.conflicts.append(path)
    for stage, entry in ((1, before), (2, left), (3, right)):
        if entry is not None:
            found.stages[path, stage] = entry
    return None


def _favoured(content: bytes, side: str) -> bytes:
    """Return merged lines with those of one side in place of every conflict."""
    pattern = rb"^<<<<<<< .*\n(?P<ours>(?:.*\n)*?)=======\n(?P<theirs>(?:.*\n)*?)>>>>>>> .*(?:\n|\Z)"
    return re.sub(pattern, lambda found: found[side], content, flags=re.MULTILINE)
