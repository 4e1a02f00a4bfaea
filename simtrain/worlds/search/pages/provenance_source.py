"""Python source in the making that also notes what is stated: which row, which attribute, where, and the claim that it follows."""

from __future__ import annotations

from typing import Final

from simtrain.values.types import encode
from simtrain.worlds.search.pages.design import SiteDesign
from simtrain.worlds.search.pages.mentions import LENGTHS, PLACES, PSEUDO, kept
from simtrain.worlds.search.pages.needs import Needs
from simtrain.worlds.search.pages.python_source import Note, SourceLines
from simtrain.worlds.search.spec.schema import PAGE, Attribute, Schema

SCOPE: Final[dict[str, object]] = {
    "P": PLACES,
    "L": LENGTHS,
    "kept": kept,
    "encode": encode,
}
"""What the code reads."""


class ProvenanceSource(SourceLines):
    """In the code that it makes, `M3[7]` is what the page states of row 7 of the type in position 3, and `F` what of all that is false."""

    def __init__(self, depth: int, schema: Schema, site: SiteDesign) -> None:
        super().__init__(depth)
        self.needs = Needs()
        self._schema = schema
        self._sure = not (site.lag or site.spec.reliability < 1 or schema.spec.disputes)
        self._types: dict[str, int] = {}
        self._silent = False

    def _state(self, attribute: Attribute, row: str, text: str, shift: str = "") -> None:
        """The next thing on the page is `text`, which states an attribute of a row; see Note for `shift`."""
        if not self._silent:
            self._note(Note(self._of(attribute), row, attribute.id, text, shift))
            self._dispute(attribute, row)

    def _of(self, attribute: Attribute) -> str:
        """Return the name of what is told of an attribute's type."""
        kind = self._schema.types.get(attribute.type)
        name = f"M{kind.position}" if kind else "M"
        self._types[name] = kind.position if kind else PSEUDO
        return name

    def _dispute(self, attribute: Attribute, row: str) -> None:
        """Note the claim that a statement follows. Only what a site may have wrong is looked up, and names never are."""
        if self._sure or attribute.kind == "name" or attribute.type == PAGE:
            return
        kind, claims = self._types[self._of(attribute)], f"K{attribute.id}"
        self.needs.claims[claims] = attribute
        self._line(f"if {row} in {claims}: F.setdefault(({kind}, {row}), {{}})[{attribute.id}] = {claims}[{row}]")

    def _wrong(self, attribute: Attribute, row: str) -> str:
        """Return whether the site has an attribute of a row wrong elsewhere."""
        self.needs.wrong[f"W{attribute.id}"] = attribute
        return f"{row} in W{attribute.id}"

    def _beginning(self) -> str:
        """Return the first line of the code of a page, once the rest is written."""
        begun = [f"{name} = {{}}" for name in self._types]
        return "; ".join(begun if self._sure else [*begun, "F = {}"]) or "pass"

    def _end(self) -> None:
        """Hand over what is told of all rows, in the order of their types."""
        for name, kind in sorted(self._types.items(), key=lambda item: item[1]):
            claims = "None" if self._sure else f"kept(F.get(({kind}, e))) if F else None"
            self._line(f"mentions += [(p, {kind}, e, t, {claims}) for e, t in {name}.items()]")
