"""Addresses of an app: patterns such as /orders/{id}, and which of them an address is."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, Self, TypeVar

T = TypeVar("T")

ANY = "\0"
"""What stands for text that is not known yet, in an address out of a template."""

_PARAMETER = re.compile(r"\{([a-z_][a-z0-9_]*)\}")
MOST_CACHED = 4096


def parameters_of(pattern: str) -> tuple[str, ...]:
    """Return the names of the parameters of a pattern, in order."""
    return tuple(_PARAMETER.findall(pattern))


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    parts = _PARAMETER.split(pattern)
    return re.compile(
        "".join(f"(?P<{part}>[^/]+)" if index % 2 else re.escape(part) for index, part in enumerate(parts))
    )


def could_be(address: str, pattern: str) -> bool:
    """True if an address in which ANY stands for unknown text could be of the pattern."""
    if ANY not in address:
        return _compiled(pattern).fullmatch(address) is not None
    ours, theirs = address.split("/"), pattern.split("/")
    if len(ours) != len(theirs):
        return False
    return all(
        _PARAMETER.fullmatch(wanted) is not None or re.fullmatch(".*".join(map(re.escape, given.split(ANY))), wanted)
        for given, wanted in zip(ours, theirs, strict=True)
    )


@dataclass(frozen=True)
class Routes(Generic[T]):
    """What lies at the addresses of an app; patterns with fewer parameters go first."""

    _entries: tuple[tuple[str, re.Pattern[str], T], ...]

    @classmethod
    def of(cls, entries: Iterable[tuple[str, T]]) -> Self:
        """Return the routes of some patterns and what lies there."""
        ordered = sorted(entries, key=lambda entry: (len(parameters_of(entry[0])), entry[0]))
        return cls(tuple((pattern, _compiled(pattern), item) for pattern, item in ordered))

    @property
    def patterns(self) -> tuple[str, ...]:
        """The patterns, in the order in which they are tried."""
        return tuple(pattern for pattern, _, _ in self._entries)

    def find(self, path: str) -> tuple[T, dict[str, str]] | None:
        """Return what lies at a path, with the values of the parameters; None if nothing does."""
        for _, regex, item in self._entries:
            found = regex.fullmatch(path)
            if found is not None:
                return item, found.groupdict()
        return None
