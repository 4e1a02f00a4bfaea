"""A built file found without its YAML source: its web is served, without what only the YAML says."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from simtrain.contracts.world import Variant
from simtrain.values.errors import InputError
from simtrain.worlds.search.file import blaming, open_file
from simtrain.worlds.search.spec.view import View
from simtrain.worlds.search.world import SearchWorld


@dataclass(frozen=True, slots=True)
class Built:
    """The source of a world known from its file alone: no description, no clock, every page sound."""

    name: str
    digest: str
    seed: int
    description: str = ""
    start: float = 0.0
    per_step: float = 0.0
    view: View = field(default_factory=View)

    @property
    def title(self) -> str:
        """The name that people use."""
        return self.name.replace("_", " ").capitalize()

    def render(self, connection: sqlite3.Connection, *, seed: int) -> None:
        """Raise InputError: the templates are in the YAML."""
        raise InputError(f"the pages of {self.name!r} cannot be written anew without its YAML")


def built_world(path: Path) -> SearchWorld:
    """Return the world in a built file. Raises InputError for a file that is none."""
    with blaming(path), closing(open_file(path)) as connection:
        meta = dict(connection.execute("select key, value from _meta").fetchall())
    return SearchWorld(Built(meta["world"], meta["identity"], int(meta["seed"])), path, Variant())
