"""Python source that reads facts: columns, the rows at the end of paths, and the rows that loops run over."""

from __future__ import annotations

from simtrain.worlds.search.pages.design import SiteDesign
from simtrain.worlds.search.pages.provenance_source import ProvenanceSource
from simtrain.worlds.search.pages.tree import RowPath, Rows
from simtrain.worlds.search.spec.schema import Attribute, Schema


class RowsSource(ProvenanceSource):
    """In the code that it makes, `C5` is the column of attribute 5, `R5[7]` the rows that refer to row 7 by it, `Z2` all rows of a type."""

    def __init__(self, depth: int, schema: Schema, site: SiteDesign) -> None:
        super().__init__(depth, schema, site)
        self._rows: dict[str, str] = {}

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
        """Return the rows of a loop in its order, by what the site believes."""
        if not rows.order:
            return found
        key = "m"
        for one in rows.order:
            key = f"{self._column(one)}[{key}]"
        return f"sorted({found}, key=lambda m: {key}{', reverse=True' if rows.descending else ''})"
