"""What scripts print, each piece with its moment: what a job in the background prints comes between other lines when its time has come."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Printed:
    """A piece of output, and the Unix time at which it is written."""

    moment: float
    stdout: str
    stderr: str


def in_order(shown: Sequence[Printed], *, ahead: Collection[Printed], due: Sequence[Printed]) -> list[Printed]:
    """Return what is to be seen of a script, by its moments.

    `shown` is all that was printed while the engine ran it, `ahead` those pieces of it that jobs printed ahead of the time, and `due` what
    of jobs has come by the end: of this script's, and of those before.
    """
    if not ahead and not due:
        return [*shown]
    kept = [piece for piece in shown if piece not in ahead or piece in due]
    return sorted([*(piece for piece in due if piece not in ahead), *kept], key=lambda piece: piece.moment)
