"""All randomness: one function that derives seeds from names, and the stream of draws that grows from a seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate
from random import Random
from typing import TypeVar

T = TypeVar("T")

SCALE = 2.0**-64
_HALF = 2**32 - 1


def derive(seed: int, *names: str | int) -> int:
    """A 64-bit seed for the thing that `names` name, under `seed`.

    BLAKE2b over the parts, each with its type and length in front, so that no two name tuples run together.
    The same on every machine, process and Python version.
    """
    return Root(seed).derive(*names)


class Root:
    """A seed with names behind it already: what is derived here is what `derive` gives for all the names together, only sooner."""

    __slots__ = ("_digest",)

    def __init__(self, seed: int, *names: str | int) -> None:
        self._digest = blake2b(str(seed).encode(), digest_size=8)
        for name in names:
            self._digest.update(_spelt(name))

    def under(self, *names: str | int) -> Root:
        """The same with further names behind it."""
        other = Root.__new__(Root)
        other._digest = self._digest.copy()
        for name in names:
            other._digest.update(_spelt(name))
        return other

    def derive(self, *names: str | int | bytes) -> int:
        """The seed of what further names stand for."""
        digest = self._digest.copy()
        for name in names:
            digest.update(name if isinstance(name, bytes) else _spelt(name))
        return _number(digest.digest(), "big")

    def draw(self, *names: str | int | bytes) -> float:
        """One number in [0, 1) for what further names stand for."""
        return self.derive(*names) * SCALE

    def stream(self, *names: str | int | bytes) -> Stream:
        """The stream of what further names stand for; nothing is derived before the first draw."""
        return Stream((self, names))


def _spelt(name: str | int) -> bytes:
    part = str(name).encode()
    return b"%c%d:%b" % (105 if isinstance(name, int) else 115, len(part), part)


@lru_cache(maxsize=4096)
def counted(name: str, index: int) -> bytes:
    """A name and a number as they go into a digest: what is drawn for many calls of few tools need not spell them each time."""
    return _spelt(name) + _spelt(index)


_number = int.from_bytes


def draw(seed: int, *names: str | int) -> float:
    """One number in [0, 1) for the thing that `names` name, without making a stream."""
    return derive(seed, *names) * SCALE


class Stream:
    """A stream of draws from one seed.

    Built on the raw Mersenne Twister output alone, since the helpers of `random.Random` (`sample`, `choices`, `randrange`)
    may change between Python versions and the draws may not.
    """

    __slots__ = ("_random", "_seed")

    def __init__(self, seed: int | tuple[Root, tuple[str | int | bytes, ...]]) -> None:
        """A seed that is a root and names under it is derived at the first draw."""
        self._seed = seed
        self._random: Callable[[], float] = self._first

    def _first(self) -> float:
        seed = self._seed
        self._random = Random(seed if isinstance(seed, int) else seed[0].derive(*seed[1])).random
        return self._random()

    def once(self) -> float:
        """A number in [0, 1) for who needs only one: always the same, and without the cost of a generator.

        It is made of the seed's lower half, so that it says nothing of what `Root.draw` gives for the same names.
        """
        seed = self._seed
        return ((seed if isinstance(seed, int) else seed[0].derive(*seed[1])) & _HALF) * 2.0**-32

    def random(self) -> float:
        """A number in [0, 1)."""
        return self._random()

    def integer(self, low: int, high: int) -> int:
        """An integer in [low, high], both ends included."""
        return low + int(self._random() * (high - low + 1))

    def number(self, low: float, high: float) -> float:
        """A number in [low, high)."""
        return low + self._random() * (high - low)

    def choose(self, items: Sequence[T], weights: Sequence[float] | None = None) -> T:
        """One of `items`, evenly or by `weights`."""
        if weights is None:
            return items[int(self._random() * len(items))]
        bounds = list(accumulate(weights))
        mark = self._random() * bounds[-1]
        return next((item for item, bound in zip(items, bounds, strict=True) if mark < bound), items[-1])

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """A new list of `items` in random order."""
        return self.sample(items, len(items))

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """`count` different ones of `items`, in random order; all of them when there are fewer."""
        pool = list(items)
        for index in range(min(count, len(pool))):
            other = self.integer(index, len(pool) - 1)
            pool[index], pool[other] = pool[other], pool[index]
        return pool[:count]
