"""How the computation of a name reaches an element, which decides what of it counts (accname 1.2, section 4.3)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NameWalk:
    """How the element at hand was reached. `hidden` elements count where a hidden one was asked for by name."""

    # "self" for the element that is named, "descendant" within it, "" where another element names it.
    target: str = ""
    by_reference: bool = False
    in_label: bool = False
    as_native: bool = False
    as_description: bool = False
    hidden: bool = False
    without_content: bool = False


SELF = NameWalk(target="self")
DESCENDANT = NameWalk(target="descendant")
