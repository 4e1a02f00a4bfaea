"""What an author wrote about one machine, evaluated: SQL, templates and owners. Mistakes are told with their place in the file."""

import re
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from simtrain.files.templates import Text
from simtrain.files.yaml_files import Document, Place
from simtrain.values.clock import instant, seconds
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.machine.accounts import User
from simtrain.worlds.service.database import Database, explain

_RELATIVE = re.compile(r"start(?:([+-])(\S+))?")


def relative_moment(text: str, start: float) -> float | None:
    """Return such as `start-6d` as Unix time, from when the world's clock begins; None for another text. Raises InputError."""
    found = _RELATIVE.fullmatch(text)
    if found is None:
        return None
    shift = seconds(found[2]) if found[2] else 0.0
    return start + (-shift if found[1] == "-" else shift)


def moment_of(text: str, start: float) -> float:
    """Return a date, or such as `start-6d`, as Unix time. Raises InputError."""
    found = relative_moment(text, start)
    return instant(text) if found is None else found


class Owned(Protocol):
    """What belongs to a user and a group; both texts may have {{ column }}."""

    @property
    def owner(self) -> str: ...

    @property
    def group(self) -> str | None: ...


class HostTexts:
    """The texts of the machine `name`, which is written at `place` of the file. `users` and `groups` are filled in when they are known."""

    def __init__(self, database: Database, document: Document, name: str, place: Place) -> None:
        self.database = database
        self.document = document
        self.name = name
        self.place = place
        self.users: Mapping[str, User] = {}
        self.groups: Mapping[str, int] = {}
        self._templates: dict[str, Text] = {}

    def error(self, place: Place, text: str, remedy: str | None = None) -> InputError:
        """Return the error of a place below that of the machine."""
        return self.document.error((*self.place, *place), text, remedy)

    def rows(self, sql: str, values: Mapping[str, JsonValue], place: Place) -> list[JsonObject]:
        """Return the rows of a SELECT over the world. Raises InputError."""
        try:
            return self.database.rows(sql, values)
        except sqlite3.Error as error:
            raise self.error(place, f"the SQL fails: {explain(error)}") from None

    def rows_of(self, each: str | None, values: JsonObject, place: Place) -> list[JsonObject]:
        """Return what a template sees for each row of `each`, the values given among it; one without `each`. Raises InputError."""
        outside: JsonObject = {**values, "host": self.name}
        if each is None:
            return [outside]
        return [{**values, **row, "host": self.name} for row in self.rows(each, outside, (*place, "each"))]

    def text(self, source: str, values: JsonObject, place: Place) -> str:
        """Return a template rendered. Raises InputError."""
        if "{" not in source:
            return source
        try:
            # Parsed once: the same text is rendered for each row of `each`.
            if source not in self._templates:
                self._templates[source] = Text(source)
            return self._templates[source].render(values)
        except InputError as error:
            raise self.document.relocate(error, (*self.place, *place)) from None

    def folder(self, name: str, place: Place) -> Path:
        """Return a folder beside the world file. Raises InputError for one that is not there, or not below the file's own."""
        folder = self.document.path.parent / name
        if not folder.is_dir():
            raise self.error(place, f"there is no folder {name!r} beside the world file", "the path is relative to it")
        if not folder.resolve().is_relative_to(self.document.path.parent.resolve()):
            raise self.error(place, f"{name!r} leads out of the folder of the world file")
        return folder

    def check_user(self, user: str, place: Place) -> None:
        """Raise InputError for a user whom the machine does not have."""
        if user not in self.users:
            raise self.error(place, f"there is no user {user!r} on {self.name}", "add it under `users`")

    def ownership(self, source: Owned, values: JsonObject, place: Place) -> tuple[str, str]:
        """Return the owner and the group of something. Raises InputError."""
        owner = self.text(source.owner, values, (*place, "owner"))
        self.check_user(owner, (*place, "owner"))
        group = self.text(source.group, values, (*place, "group")) if source.group else self.users[owner].group
        if group not in self.groups:
            raise self.error(
                (*place, "group"), f"there is no group {group!r} on {self.name}", "name it in a user's `groups`"
            )
        return owner, group
