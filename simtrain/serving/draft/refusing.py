"""Refusals: what a server says when something that a call names is not there, and how it says it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from simtrain.serving.draft.errors import is_misuse
from simtrain.serving.draft.forms import identifier, is_bindable
from simtrain.serving.draft.history import History, named_ids
from simtrain.serving.draft.lives import Table
from simtrain.serving.draft.observed import Call, Channel
from simtrain.serving.draft.sentences import Said, Sentence, learn_sentence
from simtrain.types import JsonObject, JsonValue


@dataclass(frozen=True, eq=False)
class Refusal:
    """A rule: the rows of a table that an argument names must stand."""

    argument: str
    table: Table
    several: bool
    sentence: Sentence
    channel: Channel
    observed: bool

    def entry(self, within: Sequence[str]) -> JsonObject:
        """The rule in the dialect of worlds."""
        name, column = identifier(self.table.name), identifier(self.table.id)
        also = "".join(f" and {condition}" for condition in within)
        rule: JsonObject = (
            {
                "if": f"select 1 from json_each(:{self.argument}) where value not in (select {column} from {name} where 1{also})"
            }
            if self.several
            else {"unless": f"select 1 from {name} where {column} = :{self.argument}{also}"}
        )
        rule["error"] = self.sentence.template()
        if self.channel != "error":
            rule["error_as"] = self.channel
        return rule


def split_calls(history: History, tool: str) -> tuple[list[Call], dict[str, list[Call]], list[Call]]:
    """The calls of a tool that did what it is for; those that named something that is not there, by argument; and all others."""
    done: list[Call] = []
    missing: dict[str, list[Call]] = {}
    other: list[Call] = []
    for call in history.observed.calls_of(tool):
        if is_misuse(history.observed, call):
            other.append(call)
            continue
        lacking = next((name for name, table in history.references(tool) if _lacks(history, table, call, name)), None)
        if lacking is not None:
            missing.setdefault(lacking, []).append(call)
        elif call.channel == "result":
            done.append(call)
        else:
            other.append(call)
    forms = [_form(call) for call in done]
    for name, calls in list(missing.items()):
        # A server that answers as ever where nothing is there refuses nothing.
        if (
            forms
            and all(_form(call) in forms and call.channel == "result" for call in calls)
            and any(call.body is not None for call in calls)
        ):
            done += missing.pop(name)
    return sorted(done, key=lambda call: call.number), missing, other


def _lacks(history: History, table: Table, call: Call, argument: str) -> bool:
    if history.intent(call.tool) == "create" and table is history.subjects.get(call.tool):
        return False
    ids = named_ids(call, argument)
    return any(table.one(identity, call.course, call.number, after=False) is None for identity in ids)


def _form(call: Call) -> list[str]:
    """The form of a reply: the keys of its object, or that it is a list, or words."""
    body: JsonValue = call.body
    if isinstance(body, dict):
        return sorted(cast(JsonObject, body))
    return ["list"] if isinstance(body, list) else ["words"]


def learn_refusal(history: History, tool: str, argument: str, table: Table, calls: Sequence[Call]) -> Refusal | None:
    """The rule behind the refusals of a tool; None where their words follow none."""
    names = [name for name in history.observed.properties(tool) if is_bindable(name)]
    said = [
        Said(call.text, {name: call.arguments.get(name) for name in names}) for call in calls if call.text is not None
    ]
    sentence = learn_sentence(said)
    if sentence is None or not is_bindable(argument):
        return None
    several = any(isinstance(call.arguments.get(argument), list) for call in history.observed.calls_of(tool))
    return Refusal(argument, table, several, sentence, calls[0].channel, True)


def borrowed_refusal(
    history: History, tool: str, argument: str, table: Table, known: Sequence[Refusal]
) -> Refusal | None:
    """The rule for a tool that was never seen to refuse: in the words that another tool has for the same table."""
    names = history.observed.properties(tool)
    several = any(isinstance(call.arguments.get(argument), list) for call in history.observed.calls_of(tool))
    for other in known:
        if (
            other.table is table
            and other.several is several
            and other.argument == argument
            and set(other.sentence.slots) <= set(names)
        ):
            return Refusal(argument, table, several, other.sentence, other.channel, False)
    if not is_bindable(argument):
        return None
    texts = (f"{table.kind.replace('_', ' ').capitalize()} not found: ", "")
    sentence = Sentence(texts, (argument,), frozenset((argument,) if several else ()))
    return Refusal(argument, table, several, sentence, "error", False)
