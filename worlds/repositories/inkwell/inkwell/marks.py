"""Places with names that move with the text."""

from inkwell.buffer import Buffer, InkwellError
from inkwell.edits import Edit
from inkwell.places import Place


class Marks:
    """The marks of one buffer. What is written at a mark goes before it, unless it sticks left."""

    def __init__(self, buffer: Buffer) -> None:
        self._buffer = buffer
        self._places: dict[str, Place] = {}
        self._left: set[str] = set()
        buffer.listen(self._follow)

    def set(self, name: str, place: Place, *, sticks_left: bool = False) -> None:
        """Put a mark, or put it elsewhere."""
        self._buffer.check(place)
        self._places[name] = place
        if sticks_left:
            self._left.add(name)
        else:
            self._left.discard(name)

    def get(self, name: str) -> Place:
        """Return where a mark is."""
        if name not in self._places:
            raise InkwellError(f"there is no mark {name!r}")
        return self._places[name]

    def remove(self, name: str) -> None:
        """Take a mark away."""
        self.get(name)
        del self._places[name]
        self._left.discard(name)

    def names(self) -> list[str]:
        """Return all marks in the order of the text."""
        return sorted(self._places, key=lambda name: (self._places[name], name))

    def following(self, place: Place) -> str | None:
        """Return the first mark behind a place; from the start again if there is none."""
        names = self.names()
        behind = [name for name in names if self._places[name] > place]
        return (behind or names or [None])[0]

    def _follow(self, edit: Edit) -> None:
        for name, place in self._places.items():
            self._places[name] = edit.moved(place, sticks_left=name in self._left)
