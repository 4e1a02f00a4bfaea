"""Remember an episode: the reads made, the records seen, the latest value under each name."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from simtrain.agents.plan import NEXT_CURSOR
from simtrain.agents.planned import Planned
from simtrain.agents.skills.typed import Kind, kinds_in
from simtrain.files.json_schemas import properties_of
from simtrain.values.json_walk import texts_in
from simtrain.values.tool_words import singular, tool_words
from simtrain.values.types import JsonObject, JsonValue, ToolSpec, canonical, is_list, is_object

MOST_SHOWING = 3


@dataclass(frozen=True, slots=True)
class Seen:
    """A record in a reply: its scalar values, and the noun of the key that it was sent under; `whole` includes nested values."""

    kind: str
    row: JsonObject
    whole: JsonObject = field(default_factory=dict[str, JsonValue])


@dataclass(slots=True)
class ReplyMemory:
    """Replies so far. `known` is the latest value under each name; the `id` of a record also counts as the id of its kind."""

    stated: Mapping[str, JsonValue]
    known: JsonObject = field(default_factory=dict[str, JsonValue])
    capitals: dict[str, str] = field(default_factory=dict[str, str])
    kinds: dict[str, frozenset[Kind]] = field(default_factory=dict[str, frozenset[Kind]])
    seen: list[Seen] = field(default_factory=list[Seen])
    _versions: dict[bytes, list[tuple[Planned, JsonObject]]] = field(
        default_factory=dict[bytes, list[tuple[Planned, JsonObject]]]
    )
    _reads: list[tuple[Planned, frozenset[str]]] = field(default_factory=list[tuple[Planned, frozenset[str]]])

    def __post_init__(self) -> None:
        for text in texts_in(dict(self.stated)):
            self.capitals[text.upper()] = text

    def note(self, planned: Planned, content: JsonObject, *, writes: bool) -> None:
        """Remember a reply."""
        texts = frozenset(texts_in(content))
        # After a write a record may rightly have other values.
        if writes:
            self._versions.clear()
        else:
            self._reads.append((planned, texts))
        self.kinds = self.kinds_with(content)
        for text in texts:
            self.capitals.setdefault(text.upper(), text)
        for seen in records_in(content, tool_words(planned.tool).noun):
            self.seen.append(seen)
            if not writes and (own := _own_key(seen)):
                self._versions.setdefault(own, []).append((planned, seen.row))
            self.known.update({name: value for name, value in seen.row.items() if value is not None})
            # Other tools take the id of a customer as customer_id.
            if seen.row.get("id") is not None:
                self.known[f"{seen.kind}_id"] = seen.row["id"]
        self.known.update(
            {name: value for name, value in planned.arguments.items() if not isinstance(value, dict | list)}
        )

    def kinds_with(self, content: JsonObject) -> dict[str, frozenset[Kind]]:
        """Return the kinds of values seen under each name, in the replies so far and in this one."""
        kinds = dict(self.kinds)
        for name, kind in kinds_in(content):
            kinds[name] = kinds.get(name, frozenset()) | {kind}
        return kinds

    def contradicts(self, planned: Planned, content: JsonObject) -> bool:
        """True if a read contradicts an earlier one about the same record, with no write in between.

        Replies of the same tool to other arguments are not compared: their values may depend on the arguments.
        """
        for seen in records_in(content, tool_words(planned.tool).noun):
            for read, before in self._versions.get(_own_key(seen), ()):
                if (read.tool != planned.tool or read == planned) and any(
                    before[name] != seen.row[name] for name in before.keys() & seen.row.keys()
                ):
                    return True
        return False

    def showing(self, text: str, *, but: Planned) -> list[Planned]:
        """Return the reads that returned a text which their arguments do not contain, the latest first."""
        found = [
            read
            for read, texts in reversed(self._reads)
            if text in texts and read != but and text not in texts_in(read.arguments)
        ]
        return list({(read.tool, str(read.arguments)): read for read in found}.values())[:MOST_SHOWING]

    def record_of(self, value: JsonValue) -> JsonObject:
        """Return the latest record with this id; empty if there is none."""
        for seen in reversed(self.seen):
            own = identity(seen.row)
            if own is not None and own[1] == value:
                return seen.row
        return {}

    def heard_of(self, text: str) -> bool:
        """True if a text appeared in a reply or in the task."""
        return any(text in texts for _, texts in self._reads) or text in texts_in(dict(self.stated))


def records_in(value: JsonValue, kind: str) -> Iterator[Seen]:
    """Yield every object in a reply with its scalar values, outer ones first."""
    if is_object(value):
        row = {name: item for name, item in value.items() if not isinstance(item, dict | list) and name != NEXT_CURSOR}
        if row:
            yield Seen(kind, row, value)
        for name, item in value.items():
            yield from records_in(item, singular(name.lower()) if isinstance(item, dict | list) else kind)
    elif is_list(value):
        for item in value:
            yield from records_in(item, kind)


def identity(row: Mapping[str, JsonValue]) -> tuple[str, JsonValue] | None:
    """Return the field that identifies a record, and its value: `id`, or the first whose name ends that way."""
    name = "id" if "id" in row else next((name for name in row if name.endswith("_id")), None)
    return None if name is None or row[name] is None else (name, row[name])


def _own_key(seen: Seen) -> bytes:
    """Return the identity of a record within its kind: its `id`, or the id of its kind; empty if it has none of its own."""
    own = next((seen.row[name] for name in ("id", f"{seen.kind}_id") if seen.row.get(name) is not None), None)
    return b"" if own is None else canonical([seen.kind, own])


def arguments_for(tool: ToolSpec, *sources: Mapping[str, JsonValue]) -> JsonObject | None:
    """Return arguments for a tool: required ones from the first source that has them, optional ones only from the
    first source; None if a required one is missing.
    """
    properties = properties_of(tool.input_schema)
    arguments: JsonObject = {name: sources[0][name] for name in properties if sources[0].get(name) is not None}
    for name in tool.input_schema.get("required", []):
        if name in arguments:
            continue
        value = next((source[name] for source in sources if source.get(name) is not None), None)
        if value is None:
            return None
        arguments[name] = value
    return arguments
