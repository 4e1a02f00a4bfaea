"""Tools of a draft: each bound to SQL, or left unbound with the reason."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from simtrain.serving.draft.forms import plain
from simtrain.serving.draft.history import History
from simtrain.serving.draft.ids import NewId, new_id_of
from simtrain.serving.draft.lives import Table
from simtrain.serving.draft.observed import Call
from simtrain.serving.draft.refusing import Refusal, borrowed_refusal, learn_refusal, split_calls
from simtrain.serving.draft.replying import Replied, Replies
from simtrain.serving.draft.rowing import Unexplained
from simtrain.serving.draft.selecting import Tool
from simtrain.serving.draft.writing import Written, changing, creating, deleting
from simtrain.types import JsonObject, encode


@dataclass(frozen=True)
class Binding:
    """What binds a tool to SQL: keys of the world's dialect, in its order."""

    entry: JsonObject
    counters: dict[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True)
class ToolDraft:
    """A drafted tool. Without a binding it is unbound, and `reason` says why; `notes` are for the author."""

    name: str
    binding: Binding | None
    reason: str = ""
    notes: tuple[str, ...] = ()


def draft_tools(history: History) -> list[ToolDraft]:
    """All tools of a server, in its own order."""
    drafts = _Drafting(history)
    return [drafts.draft(tool) for tool in history.observed.tools]


class _Drafting:
    def __init__(self, history: History) -> None:
        self.history = history
        self.split = {tool: split_calls(history, tool) for tool in history.observed.tools}
        self.refusals = self._learn_refusals()

    def _learn_refusals(self) -> dict[tuple[str, str], Refusal]:
        found: dict[tuple[str, str], Refusal] = {}
        for tool, (_, missing, _) in self.split.items():
            for name, table in self.history.references(tool):
                refusal = learn_refusal(self.history, tool, name, table, missing[name]) if name in missing else None
                if refusal is not None:
                    found[tool, name] = refusal
        return found

    def draft(self, name: str) -> ToolDraft:
        """One tool."""
        done = self.split[name][0]
        if not self.history.observed.calls_of(name):
            return ToolDraft(name, None, "no recorded call shows what it does")
        if not done:
            return ToolDraft(name, None, "no recorded call of it went well")
        try:
            return self._bind(name, done)
        except Unexplained as reason:
            return ToolDraft(name, None, f"not understood: {reason}")

    def _bind(self, name: str, done: Sequence[Call]) -> ToolDraft:
        history, subject = self.history, self.history.subjects.get(name)
        intent = history.intent(name)
        makes = intent == "create" and subject is not None
        tool = Tool(name, history, done, subject, makes, _id_given(history, name, subject, done) if makes else None)
        made = new_id_of(subject) if subject is not None and makes and tool.id_given is None else None
        written = self._write(tool, made)
        replied = Replies(tool).explain()
        refusals, assumed = self._refuse(tool)
        entry = _entry(made, written, replied, refusals)
        if not (entry.get("write") or entry.get("read")):
            raise Unexplained("no table has anything to do with it")
        counters = {subject.name: made.counter} if made and subject and made.counter is not None else {}
        notes = (*(written.notes if written else ()), *assumed, *_idle(tool, entry))
        return ToolDraft(name, Binding(entry, counters), notes=notes)

    def _write(self, tool: Tool, made: NewId | None) -> Written | None:
        intent, subject = self.history.intent(tool.name), tool.subject
        if intent not in ("create", "update", "delete"):
            if any(
                life.born in {call.number for call in tool.calls}
                for table in self.history.tables.values()
                for life in table.lives
            ):
                raise Unexplained("it makes rows, and its name does not say so")
            return None
        if subject is None:
            raise Unexplained("no table is known that it writes")
        if intent == "create":
            if tool.id_given is None and made is None:
                raise Unexplained(f"how the id of a new {subject.kind} is made")
            if not any(tool.made(call) for call in tool.calls):
                raise Unexplained(f"no recorded reply shows a {subject.kind} that it made")
            return creating(tool, subject, made)
        return changing(tool, subject) if intent == "update" else deleting(tool, subject)

    def _refuse(self, tool: Tool) -> tuple[list[JsonObject], list[str]]:
        """The rules of a tool, and those of them that no recording shows."""
        rules: list[JsonObject] = []
        assumed: list[str] = []
        required = self.history.observed.required(tool.name)
        for name, table in self.history.references(tool.name):
            if tool.makes and table is tool.subject:
                continue
            refusal = self.refusals.get((tool.name, name))
            if refusal is None and name in required and self._is_needed(tool, table):
                refusal = borrowed_refusal(self.history, tool.name, name, table, list(self.refusals.values()))
                assumed.append(f"what it says of a missing {table.kind} was not recorded")
            if refusal is not None:
                rule = refusal.entry(tool.within(table))
                if name not in required:
                    rule = _where_given(rule, name)
                rules.append(rule)
        return rules, assumed

    def _is_needed(self, tool: Tool, table: Table) -> bool:
        """Whether a call makes no sense without the row: it is what the tool is about, or what a new row belongs to."""
        answered = [
            call
            for call in tool.calls
            if not all(
                table.one(value, call.course, call.number, after=False)
                for value in [call.arguments.get(self.history.id_argument(tool.name, table) or "")]
            )
        ]
        return not answered and (table is tool.subject or tool.makes)


def _where_given(rule: JsonObject, name: str) -> JsonObject:
    """A rule for an argument that may be absent."""
    if "unless" not in rule:
        return rule
    return {
        "unless": f"select :{name} is null or exists ({rule['unless']})",
        **{k: v for k, v in rule.items() if k != "unless"},
    }


def _id_given(history: History, name: str, subject: Table | None, done: Sequence[Call]) -> str | None:
    """The argument in which the caller says what the id shall be."""
    if subject is None:
        return None
    for argument in history.observed.properties(name):
        given = [
            (call.arguments.get(argument), life.id)
            for call in done
            for life in subject.lives
            if life.born == call.number
        ]
        same_name = plain(argument) == plain(subject.id) or history.id_argument(name, subject) == argument
        if same_name and given and all(one == other for one, other in given):
            return argument
    return None


def _idle(tool: Tool, entry: JsonObject) -> list[str]:
    """The arguments that no recorded call gives and that do nothing in the draft."""
    text = encode(entry)
    given = {name for call in tool.history.observed.calls_of(tool.name) for name in call.arguments}
    idle = [
        name
        for name in tool.history.observed.properties(tool.name)
        if name not in given and not re.search(rf":{re.escape(name)}\b", text)
    ]
    return [f"{', '.join(idle)}: given in no recorded call, and without effect here"] if idle else []


def _entry(made: NewId | None, written: Written | None, replied: Replied, refusals: list[JsonObject]) -> JsonObject:
    entry: JsonObject = {
        "let": {**(made.let if made else {}), **replied.let},
        "refuse": refusals,
        "ids": made.ids if made else {},
        "write": written.write if written else [],
        "read": replied.read,
        "text": replied.text,
        "each": replied.each,
        "structured": None if replied.structured else False,
    }
    return {key: value for key, value in entry.items() if value not in (None, {}, [])}
