"""All randomness: one function that derives seeds from names, and streams of draws from a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate
from random import Random
from typing import TypeVar

T = TypeVar("T")

SCALE = 2.0**-64
_HALF = 2**32 - 1


def derive(seed: int, *names: str | int) -> int:
    """Return a 64-bit seed for `names`, derived from `seed`.

    BLAKE2b over the parts, each prefixed with its type and length, so that different name tuples never collide by concatenation.
    The same on every machine, process and Python version.
    """
    return Root(seed).derive(*names)


class Root:
    """A seed with a prefix of names: derives the same as `derive` for all names together, but faster."""

    __slots__ = ("_digest",)

    def __init__(self, seed: int, *names: str | int) -> None:
        self._digest = blake2b(str(seed).encode() + _joined(names), digest_size=8)

    def under(self, *names: str | int) -> Root:
        """Return a root with further names appended."""
        return self.under_spelt(_joined(names))

    def under_spelt(self, names: bytes) -> Root:
        """Return the same for names that are spelt already."""
        other = Root.__new__(Root)
        digest = other._digest = self._digest.copy()
        digest.update(names)
        return other

    def derive(self, *names: str | int | bytes) -> int:
        """Return the seed derived for further names."""
        return self.derive_spelt(_joined(names))

    def derive_spelt(self, names: bytes) -> int:
        """Return the same for names that are spelt already."""
        digest = self._digest.copy()
        digest.update(names)
        return _number(digest.digest(), "big")

    def draw(self, *names: str | int | bytes) -> float:
        """Return one number in [0, 1) for further names."""
        return self.derive(*names) * SCALE

    def stream(self, *names: str | int | bytes) -> Stream:
        """Return the stream for further names; derivation is deferred until the first draw."""
        return Stream((self, _joined(names)))


def spelt(name: str | int) -> bytes:
    """Return a name in the encoding that goes into the digest."""
    part = str(name).encode()
    return b"%c%d:%b" % (105 if isinstance(name, int) else 115, len(part), part)


def _joined(names: Iterable[str | int | bytes]) -> bytes:
    return b"".join([name if isinstance(name, bytes) else spelt(name) for name in names])


@lru_cache(maxsize=4096)
def counted(name: str, index: int) -> bytes:
    """Return the encoding of a name and a number; cached, since the same few tools are drawn for again and again."""
    return spelt(name) + spelt(index)


_number = int.from_bytes


def draw(seed: int, *names: str | int) -> float:
    """Return one number in [0, 1) for `names`, without creating a stream."""
    return derive(seed, *names) * SCALE


class Stream:
    """A stream of draws from one seed.

    Uses only the raw Mersenne Twister output: the helpers of `random.Random` (`sample`, `choices`, `randrange`) may change
    between Python versions, the draws must not.
    """

    __slots__ = ("_random", "_seed")

    def __init__(self, seed: int | tuple[Root, bytes]) -> None:
        """Make a seed; if it is a root with names under it, spelt as `counted` does, it is derived at the first draw."""
        self._seed = seed
        # A bound method here would create a reference cycle, which only the garbage collector frees.
        self._random: Callable[[], float] | None = None

    def _begun(self) -> Callable[[], float]:
        found = self._random = Random(self._derived()).random
        return found

    def _derived(self) -> int:
        seed = self._seed
        return seed if isinstance(seed, int) else seed[0].derive_spelt(seed[1])

    def once(self) -> float:
        """Return a single number in [0, 1): always the same, and without the cost of a generator.

        It uses the seed's lower half, so it is independent of `Root.draw` for the same names.
        """
        return (self._derived() & _HALF) * 2.0**-32

    def random(self) -> float:
        """Return a number in [0, 1)."""
        return (self._random or self._begun())()

    def integer(self, low: int, high: int) -> int:
        """Return an integer in [low, high], both ends included."""
        return low + int((self._random or self._begun())() * (high - low + 1))

    def number(self, low: float, high: float) -> float:
        """Return a number in [low, high)."""
        return low + (self._random or self._begun())() * (high - low)

    def choose(self, items: Sequence[T], weights: Sequence[float] | None = None) -> T:
        """Return one of `items`, evenly or by `weights`."""
        if weights is None:
            return items[int((self._random or self._begun())() * len(items))]
        bounds = list(accumulate(weights))
        mark = (self._random or self._begun())() * bounds[-1]
        # The last item is the fallback, since rounding may leave the mark at the final bound.
        return next((item for item, bound in zip(items, bounds, strict=True) if mark < bound), items[-1])

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return a new list of `items` in random order."""
        return self.sample(items, len(items))

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """Return `count` different `items` in random order; all of them if there are fewer."""
        pool = list(items)
        # Fisher-Yates up to `count`: a longer sample begins with the shorter one.
        for index in range(min(count, len(pool))):
            other = self.integer(index, len(pool) - 1)
            pool[index], pool[other] = pool[other], pool[index]
        return pool[:count]
