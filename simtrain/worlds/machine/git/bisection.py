"""Which commit to test next: the one that halves what is left, chosen as git chooses it (bisect.c)."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

_MODULO = 32768
Parents = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class CommitsLeft:
    """The commits left, the most useful first, with how many there are, and how many a good result for the best would settle.

    `skipped` are those that would have been more useful, had they not been skipped.
    """

    commits: tuple[str, ...]
    total: int
    reaches: int
    skipped: tuple[str, ...] = ()


def choose(listed: Sequence[str], parents: Parents, skipped: AbstractSet[str], bad: str) -> CommitsLeft:
    """Choose among the commits that may be the first bad one. `listed` has the youngest first, `parents` all parents among them."""
    # As in git, the oldest go first: of equally useful ones the first is taken.
    order = tuple(reversed(listed))
    if not order:
        return CommitsLeft((), 0, 0)
    weights = _weights(order, parents)
    total = len(order)
    if not skipped:
        best = _halfway(order, parents, weights) or max(order, key=lambda sha: _distance(weights[sha], total))
        return CommitsLeft((best,), total, weights[best])
    ranked = sorted(order, key=lambda sha: (-_distance(weights[sha], total), sha))
    reaches = weights[ranked[0]]
    if ranked[0] not in skipped:
        return CommitsLeft((ranked[0],), total, reaches)
    left = tuple(sha for sha in ranked if sha not in skipped)
    passed = tuple(sha for sha in ranked if sha in skipped)
    return CommitsLeft(_away(left, bad), total, reaches, passed)


def steps_left(count: int) -> int:
    """Return how many steps about so many commits take."""
    if count < 3:
        return 0
    whole = count.bit_length() - 1
    power = 1 << whole
    return whole if power < 3 * (count - power) else whole - 1


def _weights(order: Sequence[str], parents: Parents) -> dict[str, int]:
    """Return for each commit how many of the list can be reached from it, itself included."""
    found: dict[str, int] = {}
    for sha in order:
        seen, waiting = {sha}, [sha]
        while waiting:
            for parent in parents[waiting.pop()]:
                if parent not in seen:
                    seen.add(parent)
                    waiting.append(parent)
        found[sha] = len(seen)
    return found


def _distance(weight: int, total: int) -> int:
    return min(weight, total - weight)


def _halfway(order: Sequence[str], parents: Parents, weights: Mapping[str, int]) -> str | None:
    """Return the first commit near the middle, in the order in which git counts: merges, and then from parents to children."""
    total = len(order)
    known = {sha for sha in order if not parents[sha]}

    def fits(sha: str) -> bool:
        off = abs(2 * weights[sha] - total)
        return off <= 1 or off < total // 1024

    merges = [sha for sha in order if len(parents[sha]) > 1]
    middle = next((sha for sha in merges if fits(sha)), None)
    if middle is not None:
        return middle
    known |= {*merges}
    while len(known) < total:
        for sha in order:
            if sha in known or not known & {*parents[sha]}:
                continue
            known.add(sha)
            if fits(sha):
                return sha
    return None


def _away(left: tuple[str, ...], bad: str) -> tuple[str, ...]:
    """Return the commits from the one on that git takes where the best ones were skipped: some way off, by a fixed series of numbers."""
    if not left:
        return ()
    number = (len(left) * 1103515245 + 12345) % 2**32 // 65536 % _MODULO
    index = len(left) * number // _MODULO * _root(number) // _root(_MODULO)
    if index >= len(left):
        return left
    if left[index] == bad:
        index = max(index - 1, 0)
    return left[index:]


def _root(value: int) -> int:
    """Return the square root as git takes it, by Newton's method until a step is less than a half."""
    if not value:
        return 0
    guess, step = float(value), 1.0
    while step >= 0.5:
        after = (guess + value / guess) / 2
        guess, step = after, abs(after - guess)
    return int(guess)
