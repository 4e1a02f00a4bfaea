"""What is known of a server once its recordings were gone through: its tables, and which tool is about which."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from simtrain.serving.draft.finding import Finder, Found, reference_to
from simtrain.serving.draft.forms import object_of, plain
from simtrain.serving.draft.lives import Table
from simtrain.serving.draft.observed import Call, Observed
from simtrain.tool_words import Intent, tool_words
from simtrain.types import JsonValue


@dataclass(eq=False)
class History:
    """The tables of a server, which tool is about which, and what records every call showed."""

    observed: Observed
    finder: Finder
    tables: dict[str, Table] = field(default_factory=dict[str, Table])
    records: dict[int, list[Found]] = field(default_factory=dict[int, list[Found]])
    subjects: dict[str, Table] = field(default_factory=dict[str, Table])

    def intent(self, tool: str) -> Intent | None:
        """What a tool does, as its name says: but one that only reads, or that is told the id of its own row, makes nothing."""
        words = tool_words(tool)
        hints = object_of(self.observed.tools[tool].get("annotations"))
        given = {plain(name) for name in self.observed.required(tool)}
        subject = self.subjects.get(tool)
        told = subject is not None and f"{plain(subject.kind)}id" in given
        return "get" if words.intent == "create" and (told or hints.get("readOnlyHint") is True) else words.intent

    def table_of(self, found: Found) -> Table:
        """The table that a record is a row of."""
        return self.tables[found.kind]

    def id_argument(self, tool: str, table: Table) -> str | None:
        """The argument that names rows of a table, one or several of them."""
        kind = plain(table.kind)
        reference = plain(reference_to(table.kind, table.id))
        forms = [f"{kind}id", reference, f"{kind}ids", f"{reference}s"]
        if table is self.subjects.get(tool):
            forms = [plain(table.id), *forms, "id", "ids", kind, f"{plain(table.id)}s"]
        by_form = {plain(name): name for name in self.observed.properties(tool)}
        return next((by_form[form] for form in forms if form in by_form), None)

    def references(self, tool: str) -> list[tuple[str, Table]]:
        """The arguments that name rows, with their tables: those of other tables first."""
        subject = self.subjects.get(tool)
        others = [table for table in self.tables.values() if table is not subject]
        pairs = [(self.id_argument(tool, table), table) for table in (*others, *([subject] if subject else []))]
        return [(name, table) for name, table in pairs if name is not None]


def named_ids(call: Call, argument: str | None) -> list[JsonValue]:
    """The ids that an argument of a call holds."""
    value: JsonValue = call.arguments.get(argument) if argument is not None else None
    if isinstance(value, list):
        return cast("list[JsonValue]", value)
    return [] if value is None else [value]
