"""Replies of drafted tools: SQL for the JSON that they hold, and templates for their texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from simtrain.serving.draft.expressing import Expressions, Sample, under
from simtrain.serving.draft.forms import identifier, layout_of, list_of, shown_text, wrapped
from simtrain.serving.draft.observed import Call
from simtrain.serving.draft.rowing import Unexplained
from simtrain.serving.draft.selecting import Tool
from simtrain.serving.draft.sentences import Said, learn_sentence
from simtrain.types import JsonObject, JsonValue


@dataclass
class Replied:
    """What the draft of a tool says of its reply: keys of the world's dialect."""

    read: JsonValue = None
    text: str | None = None
    each: str | None = None
    structured: bool = True
    let: dict[str, str] = field(default_factory=dict[str, str])


class Replies:
    """Explains the replies of one tool. Methods raise Unexplained for what nothing explains."""

    def __init__(self, tool: Tool) -> None:
        self.tool = tool
        self.sql = Expressions(tool)

    def explain(self) -> Replied:
        """The whole reply."""
        calls = self.tool.calls
        bodies = [Sample(call, call.body) for call in calls]
        if all(sample.value is None for sample in bodies):
            return self._words()
        if any(sample.value is None for sample in bodies):
            raise Unexplained("replies that are now JSON, now words")
        structured = calls[0].structured is not None
        if any((call.structured is not None) is not structured for call in calls):
            raise Unexplained("replies that have structured content now and then")
        replied = Replied(self._body(bodies), structured=structured, let=self.sql.let)
        name = "items" if isinstance(bodies[0].value, list) else "reply"
        if not structured:
            replied.text = self._text(name)
            return replied
        replied.each = self._blocks_of()
        replied.text = self._text_beside() if replied.each is None else self._text_of_each(replied.each)
        return replied

    def _blocks_of(self) -> str | None:
        """The list of the structured content whose items have a text block each; None where there is one block for all."""
        if all(call.parsed == call.structured for call in self.tool.calls):
            return None
        for key in self.tool.calls[0].structured or {}:
            pairs = [(list_of((call.structured or {}).get(key)), call.texts) for call in self.tool.calls]
            apart = all(items is not None and len(items) == len(texts or []) for items, texts in pairs)
            # A list of one item in one block is either; the item alone is not the list.
            if apart and not all(layout_of(items, "\n".join(texts or [])) for items, texts in pairs):
                return key
        return None

    def _text_of_each(self, key: str) -> str:
        """The template of a block."""
        pairs = [
            pair
            for call in self.tool.calls
            for pair in zip(cast("list[JsonValue]", (call.structured or {})[key]), call.texts or [], strict=True)
        ]
        if all(item == text for item, text in pairs):
            return "{{ item }}"
        layouts = {layout_of(item, text) for item, text in pairs}
        if len(layouts) == 1 and None not in layouts:
            return f"{{{{ item | {layouts.pop()} }}}}"
        raise Unexplained("the text blocks beside the structured content")

    def _body(self, bodies: Sequence[Sample]) -> JsonValue:
        first = bodies[0].value
        if isinstance(first, list):
            return {"items": self._list_part((), bodies, "items")}
        table = self.sql.row_table([sample.value for sample in bodies])
        # A row that the tool has taken away cannot be read any more: what is said of it is explained key by key.
        if table is not None and not self.sql.takes_away(table):
            return {"one": self.sql.row(table, bodies)}
        keys = self.sql.keys(bodies)
        # The lists first: what stands before them may count them.
        listed = sorted(keys, key=lambda key: not any(isinstance(sample.value, list) for sample in under(bodies, key)))
        parts = {key: self._part((key,), under(bodies, key), key) for key in listed}
        return {key: parts[key] for key in keys} or {"ok": {"value": "select 1"}}

    def _part(self, path: tuple[str, ...], samples: Sequence[Sample], key: str) -> JsonValue:
        values = [sample.value for sample in samples]
        table = self.sql.row_table(values)
        if table is not None:
            return {"one": self.sql.row(table, samples)}
        if all(isinstance(value, list) for value in values):
            return self._list_part(path, samples, key)
        found = self.sql.expression(path, samples)
        return {"value": f"select {found.sql}{_alias(key, found.kind)}"}

    def _list_part(self, path: tuple[str, ...], samples: Sequence[Sample], key: str) -> JsonValue:
        rows = self.sql.rows(path, samples)
        if rows is not None:
            keys, lists = rows
            return "\n".join([f"select {wrapped([key.column() for key in keys])}", *lists.lines()])
        found = self.sql.expression(path, samples)
        return {"value": f"select {found.sql}{_alias(key, found.kind)}"}

    def _words(self) -> Replied:
        """A reply in words alone."""
        said = [Said(call.text, self.sql.named(call)) for call in self.tool.calls if call.text is not None]
        sentence = learn_sentence(said)
        if sentence is None or len(said) < len(self.tool.calls):
            raise Unexplained("the words of the reply")
        self.sql.remember(sentence.slots)
        replied = Replied(text=sentence.template(), structured=False, let=self.sql.let)
        cells = [slot for slot in sentence.slots if slot.startswith("cell_")]
        subject = self.tool.subject
        if cells and subject is not None:
            columns = [
                f"{identifier(slot.removeprefix('cell_'))} as {identifier(slot)}" for slot in dict.fromkeys(cells)
            ]
            replied.read = {"one": f"select {', '.join(columns)} {self.sql.from_one(subject)}"}
        return replied

    def _text(self, name: str) -> str:
        """The template of a text that is the reply as JSON."""
        layouts = Counter(
            layout for call in self.tool.calls for layout in [layout_of(call.parsed, call.text or "")] if layout
        )
        if not layouts:
            raise Unexplained("how the JSON in the text is laid out")
        return f"{{{{ {name} | {layouts.most_common(1)[0][0]} }}}}"

    def _text_beside(self) -> str | None:
        """The template of the text beside structured content; None where it is the content, compact."""
        calls = self.tool.calls
        if all(call.parsed == call.structured for call in calls):
            text = self._text("reply")
            return None if text == "{{ reply | tojson }}" else text
        for key in calls[0].structured or {}:
            inner = [(call.structured or {}).get(key) for call in calls]
            if all(shown_text(value) == call.text for value, call in zip(inner, calls, strict=True)):
                return f"{{{{ {key} }}}}"
            layouts = {layout_of(value, call.text or "") for value, call in zip(inner, calls, strict=True)} - {None}
            if len(layouts) == 1 and all(call.parsed == value for value, call in zip(inner, calls, strict=True)):
                return f"{{{{ {key} | {layouts.pop()} }}}}"
        said = [Said(call.text or "", {**self._flat(call), **self.tool.given(call)}) for call in calls]
        sentence = learn_sentence(said)
        if sentence is None or any(call.text is None for call in calls):
            raise Unexplained("the text beside the structured content")
        return sentence.template()

    def _flat(self, call: Call) -> dict[str, JsonValue]:
        """What of the structured content a template can name, lengths of lists included."""
        found: dict[str, JsonValue] = {}
        for key, value in (call.structured or {}).items():
            if isinstance(value, dict):
                found |= {f"{key}.{inner}": item for inner, item in cast(JsonObject, value).items()}
            elif isinstance(value, list):
                found[f"{key} | length"] = len(cast("list[JsonValue]", value))
            else:
                found[key] = value
        return found


def _alias(key: str, kind: str) -> str:
    marks = {"json": ":json", "boolean": ":bool"}.get(kind, "")
    return f' as "{key}{marks}"' if marks else ""
