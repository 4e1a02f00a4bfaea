"""The order in which fsck names objects: that of a table whose places come from the first bytes of their ids."""

import struct

_SMALLEST = 32


class ObjectTable:
    """Ids in a table with open places. One whose place is taken goes to the next free one, until it is met again."""

    def __init__(self) -> None:
        self._places: list[str | None] = []
        self._count = 0

    def meet(self, sha: str) -> None:
        """Enter an id, or if it is there move it to the place that it would have by itself."""
        if self._places:
            first = self._first(sha)
            place = self._place(sha)
            if self._places[place] is not None:
                self._places[first], self._places[place] = self._places[place], self._places[first]
                return
        if len(self._places) - 1 <= 2 * self._count:
            self._grow()
        self._places[self._place(sha)] = sha
        self._count += 1

    def ids(self) -> list[str]:
        """Return all ids in order."""
        return [sha for sha in self._places if sha is not None]

    def _first(self, sha: str) -> int:
        return struct.unpack("<L", bytes.fromhex(sha[:8]))[0] % len(self._places)

    def _place(self, sha: str) -> int:
        """Return where an id is, or else the free place for it."""
        place = self._first(sha)
        while self._places[place] not in (None, sha):
            place = (place + 1) % len(self._places)
        return place

    def _grow(self) -> None:
        held = self.ids()
        self._places = [None] * max(_SMALLEST, 2 * len(self._places))
        for sha in held:
            self._places[self._place(sha)] = sha
