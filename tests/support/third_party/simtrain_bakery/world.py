"""A kind of world: a service world whose rows are written out, with every text reversed."""

from __future__ import annotations

from simtrain.files.yaml_files import Document
from simtrain.worlds.service.source import ServiceSource
from simtrain.worlds.service.spec import ServiceSpec


class MirrorSpec:
    """Reads `kind: mirror` files: service worlds whose literal texts are stored backwards."""

    @classmethod
    def load(cls, document: Document) -> ServiceSource:
        """The source of the world. Raises InputError."""
        rows = {
            table: [
                {name: cell[::-1] if isinstance(cell, str) else cell for name, cell in row.items()} for row in given
            ]
            for table, given in document.data["rows"].items()
        }
        data = {**document.data, "kind": "service", "rows": rows}
        return ServiceSource(Document(document.path, data, document.lines), document.parse(ServiceSpec, data))
