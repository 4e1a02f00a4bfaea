"""Differences in the raw form of diff-tree and its relatives: modes, ids and a letter."""

from collections.abc import Mapping
from dataclasses import dataclass

from simtrain.worlds.handlers.git.deltas import Delta
from simtrain.worlds.handlers.git.objects import FOLDER, NOTHING, TreeEntry
from simtrain.worlds.handlers.git.paths import quoted
from simtrain.worlds.machine.git.folder import FolderRepository
from simtrain.worlds.machine.git.listing import letter

_ABSENT = TreeEntry("000000", NOTHING)


@dataclass(frozen=True, slots=True)
class RawChange:
    """A file or folder that differs: the entry before and after (None where it was or is missing), and the sign of the change."""

    path: str
    old: TreeEntry | None
    new: TreeEntry | None
    sign: str
    source: str = ""

    def line(self, *, digits: int | None, end: str) -> str:
        """Return the change as a line; `digits` is how long ids are, None for whole ones."""
        old, new = self.old or _ABSENT, self.new or _ABSENT
        ids = f"{old.sha[:digits]} {new.sha[:digits]}"
        return f":{old.mode.rjust(6, '0')} {new.mode.rjust(6, '0')} {ids} {self.status(end)}"

    def status(self, end: str) -> str:
        """Return the sign and the paths."""
        gap = "\t" if end == "\n" else "\0"
        paths = [self.source, self.path] if self.source else [self.path]
        shown = [quoted(path) if end == "\n" else path for path in paths]
        return f"{self.sign}{gap}{gap.join(shown)}{end}"


def between_trees(
    repository: FolderRepository, old: Mapping[str, TreeEntry], new: Mapping[str, TreeEntry], *, deep: bool, trees: bool
) -> list[RawChange]:
    """Return the changes from the entries of one folder to another's: with `deep` in folders below, with `trees` these themselves."""
    found: list[RawChange] = []
    for path in sorted({*old, *new}, key=lambda one: one.encode()):
        before, after = old.get(path), new.get(path)
        if before == after:
            continue
        folders = [one if one and one.mode == FOLDER else None for one in (before, after)]
        files = [one if one and one.mode != FOLDER else None for one in (before, after)]
        if not deep:
            found += _change(path, before, after)
            continue
        found += _change(path, files[0], files[1])
        if any(folders):
            found += _change(path, folders[0], folders[1]) if trees else []
            inner = [
                {f"{path}/{name}": entry for name, entry in repository.tree(one.sha).items()} if one else {}
                for one in folders
            ]
            found += between_trees(repository, inner[0], inner[1], deep=True, trees=trees)
    return found


def _change(path: str, old: TreeEntry | None, new: TreeEntry | None) -> list[RawChange]:
    if old is None and new is None:
        return []
    if old is not None and new is not None and old.mode[:2] != new.mode[:2]:
        if FOLDER in (old.mode, new.mode):
            return [RawChange(path, old, None, "D"), RawChange(path, None, new, "A")]
        return [RawChange(path, old, new, "T")]
    return [RawChange(path, old, new, "A" if old is None else "D" if new is None else "M")]


def raw_of(delta: Delta, *, new_id: str | None = None) -> RawChange:
    """Return a difference between files in the raw form. `new_id` stands for the id of a file that was not stored."""
    old, new = delta.old, delta.new
    entry = new.entry if new else None
    if entry is not None and new_id is not None:
        entry = TreeEntry(entry.mode, new_id)
    renamed = delta.alike is not None and old is not None
    sign = f"R{delta.alike:03}" if renamed else letter(delta)
    return RawChange(delta.path, old.entry if old else None, entry, sign, old.path if renamed and old else "")


def without_renames(found: list[Delta]) -> list[Delta]:
    """Return differences with each rename as a deletion and an addition, as commands close to the storage show them."""
    apart: list[Delta] = []
    for delta in found:
        if delta.alike is None:
            apart.append(delta)
        else:
            apart += [Delta(delta.old, None), Delta(None, delta.new)]
    return sorted(apart, key=lambda delta: delta.path.encode())
