"""Generates the Python source that reads facts and notes their provenance: row, attribute, position, and the claim behind them."""

from typing import Final

from simtrain.values.types import encode
from simtrain.worlds.search.pages.design import SiteDesign
from simtrain.worlds.search.pages.mentions import LENGTHS, PLACES, PSEUDO, kept
from simtrain.worlds.search.pages.needs import Needs
from simtrain.worlds.search.pages.python_source import Note, SourceLines
from simtrain.worlds.search.pages.tree import RowPath, Rows
from simtrain.worlds.search.spec.schema import PAGE, Attribute, Schema

SCOPE: Final[dict[str, object]] = {
    "P": PLACES,
    "L": LENGTHS,
    "kept": kept,
    "encode": encode,
}
"""Names that all generated code may use."""


class ProvenanceSource(SourceLines):
    """In the generated code, `C5` is the column of attribute 5, `R5[7]` the rows that refer to row 7 by it, `Z2` all rows of a type.

    `M3[7]` holds the statements about row 7 of the type in position 3, and `F` the claims behind false ones.
    """

    def __init__(self, schema: Schema, site: SiteDesign) -> None:
        super().__init__()
        self.needs = Needs()
        self._schema = schema
        # A site that can have nothing wrong needs no code that looks claims up.
        self._sure = not (site.lag or site.spec.reliability < 1 or schema.spec.disputes)
        self._types: dict[str, int] = {}
        self._silent = False
        self._rows: dict[str, str] = {}

    def _state(self, attribute: Attribute, row: str, text: str, shift: str = "") -> None:
        """Note that the next piece of the page is `text`, which states an attribute of a row; `shift` as in Note."""
        if not self._silent:
            self._note(Note(self._of(attribute), row, attribute.id, text, shift))
            self._dispute(attribute, row)

    def _of(self, attribute: Attribute) -> str:
        """Return the variable that collects statements about an attribute's type."""
        kind = self._schema.types.get(attribute.type)
        name = f"M{kind.position}" if kind else "M"
        self._types[name] = kind.position if kind else PSEUDO
        return name

    def _dispute(self, attribute: Attribute, row: str) -> None:
        """Note the claim behind a statement. Only what a site may have wrong is looked up; names never are."""
        if self._sure or attribute.kind == "name" or attribute.type == PAGE:
            return
        kind, claims = self._types[self._of(attribute)], f"K{attribute.id}"
        self.needs.claims[claims] = attribute
        self._line(f"if {row} in {claims}: F.setdefault(({kind}, {row}), {{}})[{attribute.id}] = {claims}[{row}]")

    def _wrong(self, attribute: Attribute, row: str) -> str:
        """Return an expression: the site has an attribute of a row wrong elsewhere."""
        self.needs.wrong[f"W{attribute.id}"] = attribute
        return f"{row} in W{attribute.id}"

    def _beginning(self) -> str:
        """Return the first line of a page's code, once the rest is known."""
        begun = [f"{name} = {{}}" for name in self._types]
        return "; ".join(begun if self._sure else [*begun, "F = {}"]) or "pass"

    def _end(self) -> None:
        """Write the lines that return the statements about all rows, ordered by type."""
        for name, kind in sorted(self._types.items(), key=lambda item: item[1]):
            claims = "None" if self._sure else f"kept(F.get(({kind}, e))) if F else None"
            self._line(f"mentions += [(p, {kind}, e, t, {claims}) for e, t in {name}.items()]")

    def _column(self, attribute: Attribute) -> str:
        self.needs.columns[f"C{attribute.id}"] = attribute
        return f"C{attribute.id}"

    def _row(self, path: RowPath) -> str:
        row = self._rows[path.root]
        for ref in path.refs:
            row = f"{self._column(ref)}[{row}]"
        return row

    def _rows_of(self, rows: Rows) -> str:
        cut = "" if rows.limit is None else f"[:{rows.limit}]"
        if rows.every:
            name = f"Z{rows.kind.position}" + "".join(f"_{one.id}" for one in rows.order) + "r" * rows.descending
            self.needs.sizes[name] = rows
            return f"{name}{cut}"
        if rows.via is None or rows.path is None:
            return f"{self._sorted(rows, 'members')}{cut}"
        self.needs.reverse[f"R{rows.via.id}"] = (rows.kind, rows.via)
        return f"{self._sorted(rows, f'R{rows.via.id}[{self._row(rows.path)}]')}{cut}"

    def _sorted(self, rows: Rows, found: str) -> str:
        """Return an expression: the rows of a loop in its order, by the site's beliefs."""
        if not rows.order:
            return found
        key = "m"
        for one in rows.order:
            key = f"{self._column(one)}[{key}]"
        return f"sorted({found}, key=lambda m: {key}{', reverse=True' if rows.descending else ''})"
