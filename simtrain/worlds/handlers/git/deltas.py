"""The files that differ between two states of a tree, and the renames among them."""

import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from simtrain.values.lines import lines_of
from simtrain.worlds.handlers.git.objects import TreeEntry

# The scale and thresholds of git's rename detection: 50 % alike is a rename, 75 % for a file that kept its name.
MOST = 60_000
ENOUGH = MOST // 2
ENOUGH_FOR_NAMESAKES = MOST * 3 // 4
# git compares files by the lines in them, cut after 64 bytes.
_CHUNK = 64


@dataclass(frozen=True, slots=True)
class Side:
    """A file on one side of a difference."""

    path: str
    entry: TreeEntry
    content: bytes

    @property
    def type(self) -> str:
        """The type of the entry, file or symlink: the first half of the mode."""
        return self.entry.mode[:3]


@dataclass(frozen=True, slots=True)
class Delta:
    """A file that differs: new if `old` is None, deleted if `new` is None. `alike`: similarity of a renamed one, in percent."""

    old: Side | None
    new: Side | None
    alike: int | None = None

    @property
    def path(self) -> str:
        """The file's present path, under which it is listed."""
        side = self.new or self.old
        assert side is not None
        return side.path


def deltas(old: Mapping[str, Side], new: Mapping[str, Side]) -> list[Delta]:
    """Return the differences of two sets of files, by path, with renames found."""
    found: list[Delta] = []
    for path in sorted({*old, *new}, key=lambda one: one.encode()):
        before, after = old.get(path), new.get(path)
        if before is None or after is None:
            found.append(Delta(before, after))
        elif before.entry != after.entry:
            # A file that became a link is a deletion and an addition.
            same_type = before.type == after.type
            found += [Delta(before, after)] if same_type else [Delta(before, None), Delta(None, after)]
    return _renamed(found)


def with_types(found: Sequence[Delta]) -> list[Delta]:
    """Return the differences, with a file that became a symlink, or the reverse, as one entry."""
    gone = {delta.path: delta.old for delta in found if delta.new is None}
    come = {delta.path for delta in found if delta.old is None}
    joined = [
        Delta(gone[delta.path], delta.new) if delta.old is None and delta.path in gone else delta for delta in found
    ]
    return [delta for delta in joined if delta.new is not None or delta.path not in come]


def _renamed(found: list[Delta]) -> list[Delta]:
    gone = [delta.old for delta in found if delta.new is None and delta.old is not None]
    come = [delta.new for delta in found if delta.old is None and delta.new is not None]
    pairs = _pairs(gone, come)
    sources = {pairs[path][0].path for path in pairs}
    kept: list[Delta] = []
    for delta in found:
        if delta.old is None and delta.path in pairs:
            source, score = pairs[delta.path]
            kept.append(replace(delta, old=source, alike=score * 100 // MOST))
        elif delta.new is not None or delta.path not in sources:
            kept.append(delta)
    return kept


def _pairs(gone: list[Side], come: list[Side]) -> dict[str, tuple[Side, int]]:
    """Return new path -> the old file and their likeness, out of MOST. Each old file is used once."""
    found: dict[str, tuple[Side, int]] = {}
    free = {side.path: side for side in gone}

    def take(source: Side, target: Side, score: int) -> None:
        found[target.path] = (source, score)
        del free[source.path]

    # In git's order: identical content first, then the same file name, then the most similar pairs.
    for target in come:
        same = [side for side in free.values() if side.entry.sha == target.entry.sha and side.type == target.type]
        if same:
            take(max(same, key=lambda side: _name(side) == _name(target)), target, MOST)
    open_targets = [target for target in come if target.path not in found]
    for source, target in list(_namesakes(free.values(), open_targets)):
        score = likeness(source, target)
        if score >= ENOUGH_FOR_NAMESAKES:
            take(source, target, score)
    rated = [
        (score, _name(source) == _name(target), source, target)
        for target in open_targets
        if target.path not in found
        for source in free.values()
        if (score := likeness(source, target)) >= ENOUGH
    ]
    for score, _, source, target in sorted(rated, key=lambda item: item[:2], reverse=True):
        if target.path not in found and source.path in free:
            take(source, target, score)
    return found


def _name(side: Side) -> str:
    return posixpath.basename(side.path)


def _namesakes(sources: Iterable[Side], targets: Iterable[Side]) -> Iterator[tuple[Side, Side]]:
    """Yield the pairs of files whose name, without folders, occurs once on each side."""
    before, after = _by_name(sources), _by_name(targets)
    for name, sides in before.items():
        if len(sides) == 1 and len(after.get(name, ())) == 1:
            yield sides[0], after[name][0]


def _by_name(sides: Iterable[Side]) -> dict[str, list[Side]]:
    found: dict[str, list[Side]] = {}
    for side in sides:
        found.setdefault(_name(side), []).append(side)
    return found


def likeness(source: Side, target: Side) -> int:
    """Return how much of the larger file is in both, out of MOST; 0 for empty files and for different types."""
    small, large = sorted((len(source.content), len(target.content)))
    if small == 0 or source.type != target.type or large * (MOST - ENOUGH) < (large - small) * MOST:
        return 0
    # Only now: sizes alone have ruled out pairs that cannot reach 50 %.
    before, after = _chunks(source.content), _chunks(target.content)
    return sum(min(size, after[chunk]) for chunk, size in before.items()) * MOST // large


def _chunks(content: bytes) -> Counter[bytes]:
    """Return the bytes in each distinct chunk: a line, or 64 bytes of a longer one. A carriage return before a line's end is ignored."""
    found: Counter[bytes] = Counter()
    text = content if is_binary(content) else content.replace(b"\r\n", b"\n")
    for line in lines_of(text):
        for start in range(0, len(line), _CHUNK):
            chunk = line[start : start + _CHUNK]
            found[chunk] += len(chunk)
    return found


def is_binary(content: bytes) -> bool:
    """True if git takes the content for binary: there is a NUL among the first 8000 bytes."""
    return b"\0" in content[:8000]
