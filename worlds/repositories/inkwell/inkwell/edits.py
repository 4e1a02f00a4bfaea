"""One change of a text."""

from dataclasses import dataclass

from inkwell.places import Place, Span


@dataclass(frozen=True)
class Edit:
    """What lies in a span makes way for a text."""

    span: Span
    text: str

    @property
    def new_end(self) -> Place:
        """The place behind the new text."""
        return self.span.start.after(self.text)

    def inverse(self, removed: str) -> "Edit":
        """Return the change that takes this one back, given what it removed."""
        return Edit(Span(self.span.start, self.new_end), removed)

    def moved(self, place: Place, *, sticks_left: bool = False) -> Place:
        """Return where a place is after the change.

        A place in what was removed goes to its start. Where text is inserted right at a place, the
        place goes behind it, unless it sticks to the left.
        """
        start, end = self.span
        if place < start or (place == start and (sticks_left or start != end)):
            return place
        if place < end:
            return start
        if place.row == end.row:
            new = self.new_end
            return Place(new.row, new.column + place.column - end.column)
        return Place(place.row + self.new_end.row - end.row, place.column)
