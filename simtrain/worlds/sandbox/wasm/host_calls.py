"""What the host answers a running component itself: the virtual clock, random bytes of the seed, sleep."""

from collections.abc import Callable
from hashlib import blake2b
from types import SimpleNamespace
from typing import Any

FUEL_PER_SECOND = 10_000_000_000
"""What the virtual clock takes for a second of computing: about what one core of today does."""

_TIMED_OUT = 124
_LOOK = 100_000
_COUNTED = FUEL_PER_SECOND // 100
_NANOSECONDS = 1_000_000_000


class Left(Exception):
    """The program ends here, with this exit code and without a word."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class VirtualClock:
    """The clock of one run. Each look at it costs 0.1 ms; work counts from 10 ms on, rounded down to a power of two.

    Fuel differs by some thousandths between machines, for what a host's file system tells (times, numbers) takes more or fewer
    instructions to read. The rounding keeps that out of what a program sees.
    """

    def __init__(self, *, start: float, seconds: float, left: Callable[[], int]) -> None:
        self._start = self._now = int(start * _NANOSECONDS)
        self._end = self._start + int(seconds * _NANOSECONDS)
        self._left = left
        self._before: int | None = None

    @property
    def passed(self) -> float:
        """Return the virtual seconds since the start."""
        return (self._now - self._start) / _NANOSECONDS

    def look(self) -> int:
        """Return the time in nanoseconds since 1970."""
        left = self._left()
        used = 0 if self._before is None else self._before - left
        self._before = left
        steps = used // _COUNTED
        self._now += 10_000_000 << (steps.bit_length() - 1) if steps else _LOOK
        return self._now

    def sleep(self, seconds: float) -> None:
        """Let time pass. Raises Left if that is longer than the run may take."""
        self._now = min(self._now + int(seconds * _NANOSECONDS), self._end)
        if self._now >= self._end:
            raise Left(_TIMED_OUT)


class SeededBytes:
    """Random bytes that depend on nothing but a seed."""

    def __init__(self, seed: int) -> None:
        self._seed = str(seed).encode()
        self._count = 0
        self._rest = b""
        self.taken = 0

    def take(self, count: int) -> bytes:
        """Return the next bytes."""
        self.taken += count
        parts = [self._rest]
        have = len(self._rest)
        while have < count:
            block = blake2b(self._seed + b"/%d" % self._count).digest()
            self._count += 1
            parts.append(block)
            have += len(block)
        found = b"".join(parts)
        self._rest = found[count:]
        return found[:count]


class HostCalls:
    """Answers clock, random bytes and sleep from here instead of from the host's, by the clock and the bytes that it has now."""

    def __init__(self, clock: VirtualClock, drawn: SeededBytes) -> None:
        self.clock, self.drawn = clock, drawn

    def add_to(self, linker: Any) -> None:
        """Answer through a linker, in the place of what it has."""
        with linker.root() as root:
            root.add_func("sleep", self._sleep)
            root.add_func("leave", self._leave)
            with root.add_instance("wasi:clocks/wall-clock@0.2.9") as wall:
                wall.add_func("now", self._now)
                wall.add_func("resolution", self._resolution)
            with root.add_instance("wasi:random/random@0.2.9") as random:
                random.add_func("get-random-bytes", self._random_bytes)
                random.add_func("get-random-u64", self._random_number)

    def _now(self, store: object) -> SimpleNamespace:
        return _moment(self.clock.look())

    def _resolution(self, store: object) -> SimpleNamespace:
        return _moment(1)

    def _random_bytes(self, store: object, count: int) -> bytes:
        return self.drawn.take(min(count, 1 << 20))

    def _random_number(self, store: object) -> int:
        return int.from_bytes(self.drawn.take(8), "big")

    def _sleep(self, store: object, seconds: float) -> None:
        self.clock.sleep(seconds)

    def _leave(self, store: object, code: int) -> None:
        raise Left(code)


def _moment(nanoseconds: int) -> SimpleNamespace:
    seconds, rest = divmod(nanoseconds, _NANOSECONDS)
    return SimpleNamespace(seconds=seconds, nanoseconds=rest)
