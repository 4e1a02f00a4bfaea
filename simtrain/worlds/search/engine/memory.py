"""The notebook of `dict_memory`: texts by key, kept for one episode."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, cast

from simtrain.contracts.handler import ToolError
from simtrain.values.types import Change, Changes, JsonObject

Operation: TypeAlias = Literal["add", "update", "retrieve", "retrieve_all", "remove", "remove_all"]

TABLE: Final = "memory"
WRITING: Final[frozenset[str]] = frozenset({"add", "update", "remove", "remove_all"})
NEEDED: Final[dict[Operation, tuple[str, ...]]] = {
    "add": ("key", "value"), "update": ("key", "value"), "retrieve": ("key",), "remove": ("key",), "retrieve_all": (), "remove_all": (),
}  # fmt: skip
"""The arguments that each operation needs. The six operations are those of Qwen-AgentWorld's search agents (arXiv 2606.24597)."""


class Notebook:
    """Notes in the order in which they were added, each with the number of its row."""

    __slots__ = ("_last", "_notes")

    def __init__(self, changes: Changes | None = None) -> None:
        """Start with an empty notebook, or with the state after recorded changes."""
        self._notes: dict[str, tuple[int, str]] = {}
        for change in (changes or {}).get(TABLE, ()):
            if change.after is not None:
                self._notes[str(change.after["key"])] = (change.rowid, str(change.after["value"]))
        self._last = max((row for row, _ in self._notes.values()), default=0)

    def carry_out(self, operation: Operation, key: str | None, value: str | None) -> JsonObject:
        """Carry out an operation. Raises ToolError for a missing argument, a key already taken, or an unknown key."""
        given = {"key": key, "value": value}
        for name in NEEDED[operation]:
            if given[name] is None:
                raise ToolError(f"'{operation}' needs the argument '{name}'.")
        match operation:
            case "add":
                return self._add(cast(str, key), cast(str, value))
            case "update":
                row, _ = self._note(cast(str, key))
                self._notes[cast(str, key)] = (row, cast(str, value))
                return {"key": key, "value": value}
            case "retrieve":
                return {"key": key, "value": self._note(cast(str, key))[1]}
            case "remove":
                self._note(cast(str, key))
                del self._notes[cast(str, key)]
                return {"key": key, "removed": 1}
            case "retrieve_all":
                return {"notes": self.notes}
            case "remove_all":
                count = len(self._notes)
                self._notes.clear()
                return {"removed": count}

    def _add(self, key: str, value: str) -> JsonObject:
        if key in self._notes:
            raise ToolError(f"The key '{key}' is already taken; use 'update' to change its value.")
        self._last += 1
        self._notes[key] = (self._last, value)
        return {"key": key, "value": value}

    def _note(self, key: str) -> tuple[int, str]:
        if key not in self._notes:
            known = ", ".join(f"'{name}'" for name in list(self._notes)[:20])
            raise ToolError(f"There is no key '{key}'." + (f" Known keys: {known}." if known else ""))
        return self._notes[key]

    @property
    def notes(self) -> dict[str, str]:
        """All notes by key, in insertion order."""
        return {key: value for key, (_, value) in self._notes.items()}

    @property
    def rows(self) -> list[JsonObject]:
        """The notes as rows of the table `memory`: row, key, value."""
        return [{"row": row, "key": key, "value": value} for key, (row, value) in self._notes.items()]

    def changes(self) -> Changes:
        """Return all notes as changes, since every episode begins with an empty notebook."""
        found = tuple(Change(row["row"], None, {"key": row["key"], "value": row["value"]}) for row in self.rows)
        return {TABLE: tuple(sorted(found, key=lambda change: change.rowid))} if found else {}

    def replace(self, rows: list[JsonObject]) -> None:
        """Replace all notes."""
        self._notes = {str(row["key"]): (int(row["row"]), str(row["value"])) for row in rows}
        # Row numbers are never used again, as with AUTOINCREMENT: a recorded change must name one note.
        self._last = max((self._last, *(row for row, _ in self._notes.values())))

    def copy(self) -> Notebook:
        """Return an independent copy."""
        other = Notebook()
        other._notes, other._last = dict(self._notes), self._last
        return other
