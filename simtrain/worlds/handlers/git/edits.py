"""Which lines differ between two texts, as git finds them: libgit2 holds git's own code for it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pygit2 import Patch
from pygit2.enums import DiffOption

_AS_GIT = DiffOption.INDENT_HEURISTIC | DiffOption.FORCE_TEXT


@dataclass(frozen=True, slots=True)
class Edit:
    """`old_count` lines from `old` on (counted from 0) are replaced by `new_count` lines from `new` on."""

    old: int
    old_count: int
    new: int
    new_count: int


def edits(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[Edit]:
    """Yield the differing stretches, from top to bottom."""
    for hunk in Patch.create_from(b"".join(old), b"".join(new), flag=_AS_GIT, context_lines=0).hunks:
        # An empty stretch is counted from the line before it.
        left, right = hunk.old_start - (hunk.old_lines > 0), hunk.new_start - (hunk.new_lines > 0)
        yield Edit(left, hunk.old_lines, right, hunk.new_lines)
