"""Parts of replies as SQL: rows and lists of them, cells, counts, arguments, moments and sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from simtrain.serving.draft.finding import EACH
from simtrain.serving.draft.forms import identifier, is_bindable, literal, moment_sql, object_of, shown_text, wrapped
from simtrain.serving.draft.lives import UNKNOWN, Table
from simtrain.serving.draft.observed import Call
from simtrain.serving.draft.rowing import Key, Unexplained, json_sql, keys_of, object_sql, table_of_object
from simtrain.serving.draft.selecting import NEW_ID, Lists, Tool, select_list
from simtrain.serving.draft.sentences import Said, learn_sentence
from simtrain.types import JsonObject, JsonValue


@dataclass(frozen=True)
class Sample:
    """A part of a reply, and the call that it replied to."""

    call: Call
    value: JsonValue


@dataclass(frozen=True)
class Expression:
    """SQL for a part of a reply; `kind` as in Key."""

    sql: str
    kind: str


class Expressions:
    """Explains parts of the replies of one tool. Methods raise Unexplained for what no SQL was found for.

    `lists` are those that were explained so far, by where they stand; `let` holds what is remembered of a row that is deleted.
    """

    def __init__(self, tool: Tool) -> None:
        self.tool = tool
        self.history = tool.history
        self.lists: dict[tuple[str, ...], Lists] = {}
        self.let: dict[str, str] = {}

    def row_table(self, values: Sequence[JsonValue]) -> Table | None:
        """The table that all values are rows of."""
        tables = {id(table): table for value in values for table in [table_of_object(self.history, value)] if table}
        return (
            next(iter(tables.values()))
            if len(tables) == 1 and all(isinstance(value, dict) for value in values)
            else None
        )

    def takes_away(self, table: Table) -> bool:
        """Whether the tool deletes rows of a table."""
        return table is self.tool.subject and self.history.intent(self.tool.name) == "delete"

    def row(self, table: Table, samples: Sequence[Sample]) -> str:
        keys = keys_of(self.history, table, [cast(JsonObject, sample.value) for sample in samples])
        return f"select {wrapped([key.column() for key in keys])}\n{self.from_one(table)}"

    def from_one(self, table: Table) -> str:
        condition = self.tool.condition(table)
        if condition is None:
            raise Unexplained(f"which {table.kind} is shown: no argument names it")
        return f"from {identifier(table.name)} where {condition}"

    def rows(self, path: tuple[str, ...], samples: Sequence[Sample]) -> tuple[list[Key], Lists] | None:
        """The keys and the selection of a list of rows; None where it is none."""
        shown = [(sample.call, cast("list[JsonObject]", sample.value)) for sample in samples]
        items = [item for _, rows in shown for item in rows]
        table = self.row_table(items)
        if table is None:
            return None
        lists = select_list(self.tool, table, shown)
        self.lists[path] = lists
        return keys_of(self.history, table, items), lists

    def expression(self, path: tuple[str, ...], samples: Sequence[Sample]) -> Expression:
        """SQL for one value that is neither a row nor a list of rows at the top of a reply."""
        values = [sample.value for sample in samples]
        known = self._known(samples)
        if known is not None:
            return known
        if all(isinstance(value, dict) for value in values):
            return self._object(path, samples)
        if all(isinstance(value, list) for value in values):
            return self._list(path, samples)
        if all(isinstance(value, str) for value in values):
            said = [Said(cast(str, sample.value), self.named(sample.call)) for sample in samples]
            sentence = learn_sentence(said)
            if sentence is not None and all(sentence.says(one) for one in said):
                self.remember(sentence.slots)
                return Expression(sentence.sql(self._expressions()), "text")
        raise Unexplained(f"the value of {'.'.join(path)!r}")

    def _object(self, path: tuple[str, ...], samples: Sequence[Sample]) -> Expression:
        table = self.row_table([sample.value for sample in samples])
        if table is not None:
            keys = keys_of(self.history, table, [cast(JsonObject, sample.value) for sample in samples])
            return Expression(f"(select {object_sql(keys)} {self.from_one(table)})", "json")
        pairs = [
            f"{literal(key)}, {_as_json(self.expression((*path, key), under(samples, key)))}"
            for key in self.keys(samples)
        ]
        return Expression(f"json_object({', '.join(pairs)})", "json")

    def _list(self, path: tuple[str, ...], samples: Sequence[Sample]) -> Expression:
        rows = self.rows(path, samples)
        if rows is not None:
            keys, lists = rows
            return Expression(f"(select json_group_array({object_sql(keys)}) from (select * {lists.sql}))", "json")
        column = self._listed_column(samples)
        if column is not None:
            return column
        raise Unexplained(f"the list {'.'.join((*path, EACH))!r}")

    def _listed_column(self, samples: Sequence[Sample]) -> Expression | None:
        """A list of single values: one column of the rows that stand."""
        for table in self.history.tables.values():
            for column in table.columns:
                if all(self._lists_column(table, column, sample) for sample in samples) and any(
                    s.value for s in samples
                ):
                    name = identifier(column)
                    return Expression(
                        f"(select json_group_array({name}) from (select {name} from {identifier(table.name)} order by rowid))",
                        "json",
                    )
        return None

    def _lists_column(self, table: Table, column: str, sample: Sample) -> bool:
        standing = table.standing(sample.call.course, sample.call.number, after=True)
        return [life.value(column, after=sample.call.number) for life in standing] == sample.value

    def keys(self, samples: Sequence[Sample]) -> list[str]:
        """The keys of objects that are no rows: the same in all of them."""
        keys = {tuple(object_of(sample.value)) for sample in samples}
        if len(keys) != 1 or not all(isinstance(sample.value, dict) for sample in samples):
            raise Unexplained("objects of several forms")
        return list(next(iter(keys)))

    def _known(self, samples: Sequence[Sample]) -> Expression | None:
        """A value that is an argument, a cell of the row meant, a count, the present, or always the same."""
        values = [sample.value for sample in samples]
        constant = all(value == values[0] and type(value) is type(values[0]) for value in values)
        # What says so little is not held to be an argument that happens to be the same.
        if constant and (isinstance(values[0], bool) or values[0] in (None, "", 0, [], {})):
            return _literal(values[0])
        for expression, value_of in self._candidates():
            if all(_equal(value_of(sample.call), sample.value) for sample in samples):
                self.remember([expression.sql.removeprefix(":")])
                return expression
        if constant and not isinstance(values[0], list | dict):
            return None if len(samples) == 1 and _tells(values[0], self.named(samples[0].call)) else _literal(values[0])
        present = moment_sql(values)
        return Expression(present, "text") if present is not None else None

    def _candidates(self) -> list[tuple[Expression, Callable[[Call], JsonValue]]]:
        tool = self.tool
        found: list[tuple[Expression, Callable[[Call], JsonValue]]] = []
        if tool.makes and tool.id_given is None:
            found.append((Expression(f":{NEW_ID}", "text"), lambda call: _id_of(tool, call)))
        for name in tool.arguments:
            values = [tool.given(call).get(name) for call in tool.calls]
            kind = "json" if any(isinstance(value, list | dict) for value in values) else "text"
            kind = "boolean" if any(isinstance(value, bool) for value in values) else kind
            found.append((Expression(f":{name}", kind), lambda call, name=name: tool.given(call).get(name)))
            if kind == "json":
                length = Expression(f"json_array_length(:{name})", "text")
                found.append((length, lambda call, name=name: _length(tool.given(call).get(name))))
        for path, lists in self.lists.items():
            total = Expression(f"(select count(*) {lists.source})", "text")
            found.append((total, lambda call, lists=lists: lists.totals.get(call.number, UNKNOWN)))
            shown = Expression(f"(select count(*) from (select 1 {lists.sql}))", "text")
            found.append((shown, lambda call, path=path: _length(_at(call.body, path))))
        for table, column, kind in self._cells():
            cell = f"(select {identifier(column)} {self.from_one(table)})"
            found.append(
                (Expression(cell, kind), lambda call, table=table, column=column: _cell(tool, table, column, call))
            )
        for column in self._gone_columns():
            kind = tool.subject.columns[column] if tool.subject else "text"
            found.append(
                (Expression(f":row_{column}", kind), lambda call, column=column: self._gone(call).get(column, UNKNOWN))
            )
        return found

    def _cells(self) -> list[tuple[Table, str, str]]:
        """The cells of the one row that the tool means, where it stands after the call."""
        subject = self.tool.subject
        if subject is None or self.tool.condition(subject) is None or " in (" in str(self.tool.condition(subject)):
            return []
        if self.history.intent(self.tool.name) == "delete":
            return []
        return [(subject, column, kind) for column, kind in subject.columns.items()]

    def named(self, call: Call) -> dict[str, JsonValue]:
        """What a sentence may name: the new id, arguments, counts, and cells of the row meant."""
        named: dict[str, JsonValue] = {}
        if self.tool.makes and self.tool.id_given is None:
            named[NEW_ID] = _id_of(self.tool, call)
        named |= self.tool.given(call)
        for column, value in self._gone(call).items():
            named.setdefault(f"row_{column}", value)
        for table, column, _ in self._cells():
            named.setdefault(f"cell_{column}", _cell(self.tool, table, column, call))
        return named

    def _expressions(self) -> dict[str, str]:
        named = {NEW_ID: f":{NEW_ID}", **{name: f":{name}" for name in self.tool.arguments}}
        for table, column, _ in self._cells():
            named[f"cell_{column}"] = f"(select {identifier(column)} {self.from_one(table)})"
        return named | {f"row_{column}": f":row_{column}" for column in self._gone_columns()}

    def _gone_columns(self) -> list[str]:
        """The columns of the row that a deleting tool takes away, as far as SQL can name what they held."""
        subject = self.tool.subject
        if subject is None or self.history.intent(self.tool.name) != "delete" or self.tool.condition(subject) is None:
            return []
        return [column for column in subject.columns if is_bindable(column)]

    def _gone(self, call: Call) -> dict[str, JsonValue]:
        """What the row held that a call took away."""
        gone = self.tool.meant(self.tool.subject, call, after=False) if self.tool.subject else []
        if len(gone) != 1:
            return {}
        cells = {column: gone[0].value(column, after=call.number - 1) for column in self._gone_columns()}
        return {column: value for column, value in cells.items() if value is not UNKNOWN}

    def remember(self, slots: Sequence[str]) -> None:
        """Keep what a deleted row held for the reply."""
        subject = self.tool.subject
        for slot in slots:
            if slot.startswith("row_") and subject is not None:
                column = identifier(slot.removeprefix("row_"))
                self.let[slot] = f"select {column} from {identifier(subject.name)} where {self.tool.condition(subject)}"


def under(samples: Sequence[Sample], key: str) -> list[Sample]:
    return [Sample(sample.call, cast(JsonObject, sample.value)[key]) for sample in samples]


def _literal(value: JsonValue) -> Expression:
    kind = "json" if isinstance(value, list | dict) else "boolean" if isinstance(value, bool) else "text"
    return Expression(literal(value), kind)


def _equal(one: JsonValue, other: JsonValue) -> bool:
    return one is not UNKNOWN and one == other and isinstance(one, bool) is isinstance(other, bool)


def _tells(value: JsonValue, named: dict[str, JsonValue]) -> bool:
    """Whether a text that was seen once holds something that another call would say otherwise."""
    return isinstance(value, str) and any(
        text in value for item in named.values() if (text := shown_text(item)) and len(text) > 2
    )


def _id_of(tool: Tool, call: Call) -> JsonValue:
    made = tool.made(call)
    return None if made is None else made.id


def _cell(tool: Tool, table: Table, column: str, call: Call) -> JsonValue:
    meant = tool.meant(table, call, after=True)
    return meant[0].value(column, after=call.number) if len(meant) == 1 else UNKNOWN


def _length(value: JsonValue) -> JsonValue:
    return len(cast("list[JsonValue]", value)) if isinstance(value, list) else UNKNOWN


def _at(value: JsonValue, path: tuple[str, ...]) -> JsonValue:
    for key in path:
        value = cast(JsonObject, value).get(key) if isinstance(value, dict) else None
    return value


def _as_json(expression: Expression) -> str:
    return json_sql(expression.sql, expression.kind)
