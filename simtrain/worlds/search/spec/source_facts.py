"""What a search world reads of its source."""

import sqlite3
from dataclasses import dataclass, field

from simtrain.values.errors import InputError
from simtrain.worlds.search.spec.view import View


@dataclass(slots=True, eq=False)
class SourceFacts:
    """What a built file states of its world: no description, no clock, every page sound. What was read from YAML says more.

    `start` is in seconds since 1970, `per_step` in seconds; the title is the name that people use.
    """

    name: str
    digest: str
    seed: int
    title: str = ""
    description: str = ""
    start: float = 0.0
    per_step: float = 0.0
    view: View = field(default_factory=View)

    def __post_init__(self) -> None:
        self.title = self.title or self.name.replace("_", " ").capitalize()

    def render(self, connection: sqlite3.Connection, *, seed: int) -> None:
        """Write pages, claims, statements and links anew, from the facts in the database; those tables are empty then.

        Raises InputError if there is only the built file: the templates are in the YAML.
        """
        raise InputError(f"the pages of {self.name!r} cannot be written anew without its YAML")
