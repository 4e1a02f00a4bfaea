"""Find out by reads whether a write whose reply was lost took effect, and what its reply would have been."""

import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from simtrain.agents.planned import Planned
from simtrain.agents.skills.memory import arguments_for, records_in
from simtrain.files.json_schemas import properties_of, property_names
from simtrain.values.json_walk import texts_in
from simtrain.values.types import JsonObject, JsonValue, Observation, ToolSpec, canonical, encode

_READ_AGAIN = 3
_LOOKED_UP = 3
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")

Looking = Generator[Planned, Observation, Observation | None]


@dataclass(slots=True)
class _Seen:
    """A read that was made, and the records that it returned."""

    read: Planned
    rows: list[JsonObject]


@dataclass(slots=True)
class WriteVerifier:
    """Remembers the reads of an episode, and looks for the traces of a write by reading again.

    A trace is a record that a repeated read returns and did not return before. If no earlier read can show the effect, it
    is a new record with the values of the write, found by a read that could list it.
    """

    tools: Mapping[str, ToolSpec]
    _seen: dict[bytes, _Seen] = field(default_factory=dict[bytes, _Seen])
    _rows: set[bytes] = field(default_factory=set[bytes])
    _known: JsonObject = field(default_factory=dict[str, JsonValue])
    _latest: str = ""

    def note(self, planned: Planned, observation: Observation) -> None:
        """Remember a reply that was not an error."""
        found = _records(observation)
        tool = self.tools.get(planned.tool)
        if tool is not None and not tool.writes:
            self._seen[planned.key] = _Seen(planned, found)
        for row in found:
            self._rows.add(canonical(row))
            self._known.update(row)
            # ISO times of one zone sort as texts.
            self._latest = max(self._latest, _time(row))
        self._known.update(_scalars(planned.arguments))

    def look(self, write: Planned, *, landed: bool = False) -> Looking:
        """Return the reply that a write would have had, from reads; None if they show no trace of it. `landed`: it is
        known to have taken effect.
        """
        wanted = self._wanted(write)
        reply: JsonObject = {}
        for seen in self._related(write):
            if landed and wanted <= reply.keys():
                break
            before = {canonical(row) for row in seen.rows}
            rows = yield from self._read(seen.read)
            fresh = [row for row in rows if canonical(row) not in before]
            # A record that was not there before the write is its trace.
            if fresh:
                landed = True
                reply = _own(max(fresh, key=lambda row: _shared(row, write)), write, wanted) | reply
        for probe in self._probes(write, wanted, wanted - reply.keys()):
            if landed and wanted <= reply.keys():
                break
            unseen, latest = set(self._rows), self._latest
            rows = [row for row in (yield from self._read(probe)) if canonical(row) not in unseen]
            trace = _trace(rows, write, latest=latest, landed=landed, lacking=wanted - reply.keys())
            if trace is not None:
                landed = True
                reply = _own(trace, write, wanted) | reply
        if not landed:
            return None
        return Observation(encode(_scalars(write.arguments) | reply), json=True)

    def _read(self, read: Planned) -> Generator[Planned, Observation, list[JsonObject]]:
        observation = yield read
        if observation.is_error:
            return []
        self.note(read, observation)
        return _records(observation)

    def _wanted(self, write: Planned) -> set[str]:
        """Return the fields of a write's reply, as its tool declares them."""
        tool = self.tools.get(write.tool)
        return set(properties_of(tool.output_schema)) if tool is not None else set()

    def _related(self, write: Planned) -> list[_Seen]:
        """Return the reads whose arguments or records share values with the write, the closest and latest first."""
        values = set(_words(write.arguments))
        scored = [
            (len(values & {*_words(seen.read.arguments), *_words(seen.rows)}), place, seen)
            for place, seen in enumerate(self._seen.values())
        ]
        scored.sort(key=lambda item: (-item[0], -item[1]))
        return [seen for score, _, seen in scored if score][:_READ_AGAIN]

    def _probes(self, write: Planned, wanted: set[str], lacking: set[str]) -> list[Planned]:
        """Return new reads that could list the record of a write: those that declare its fields and whose arguments are known."""
        found: list[tuple[int, Planned]] = []
        server = write.tool.partition(".")[0]
        for tool in self.tools.values():
            arguments = None if tool.writes else arguments_for(tool, _scalars(write.arguments), self._known)
            if arguments is None or Planned(tool.name, arguments).key in self._seen:
                continue
            # Every record has an id, so a declared id is no evidence.
            declared = set(property_names(tool.output_schema)) - {"id"}
            hits = len(declared & wanted) + len(declared & lacking) + len(arguments.keys() & write.arguments.keys())
            if hits:
                found.append((2 * hits + (tool.server == server), Planned(tool.name, arguments)))
        found.sort(key=lambda item: -item[0])
        return [probe for _, probe in found[:_LOOKED_UP]]


def _trace(
    rows: Sequence[JsonObject], write: Planned, *, latest: str, landed: bool, lacking: set[str]
) -> JsonObject | None:
    """Return the record that a write left, among new ones: it has two of its values, or one and the latest time of all."""

    def newer(row: JsonObject) -> bool:
        return _time(row) > latest > ""

    def fits(row: JsonObject) -> bool:
        shared = _shared(row, write)
        if landed:
            return bool(row.keys() & lacking) and shared > 0
        # One shared value alone is found in many records, such as all of one customer.
        return shared > 1 or (shared == 1 and (newer(row) or len(write.arguments) == 1))

    fitting = [row for row in rows if fits(row)]
    return max(fitting, key=lambda row: (_shared(row, write), _time(row)), default=None)


def _own(row: JsonObject, write: Planned, wanted: set[str]) -> JsonObject:
    """Return the fields of a record that the reply of a write also has."""
    named = any(name in wanted and value == row.get("id") for name, value in write.arguments.items())
    # Only the outermost record has the reply's own id; a nested one is a record that the write refers to.
    same = not wanted or (wanted <= row.keys() and not named)
    return {name: value for name, value in row.items() if (name in wanted or not wanted) and (name != "id" or same)}


def _shared(row: JsonObject, write: Planned) -> int:
    """Return the number of values of a write that a record has; 0 if it contradicts one under the same name."""
    given = _scalars(write.arguments)
    if any(name in row and row[name] != value for name, value in given.items()):
        return 0
    held = set(_words(row))
    return sum(name in row or (isinstance(value, str) and value in held) for name, value in given.items()) + sum(
        word in held for name, value in write.arguments.items() if name not in given for word in _words(value)
    )


def _records(observation: Observation) -> list[JsonObject]:
    """Return every object in a reply, with its scalar values only; an unstructured reply is one record with its text."""
    content = observation.content
    if content is None:
        return [{"text": observation.text}]
    return [row for seen in records_in(content, "") if (row := _scalars(seen.row))]


def _scalars(row: JsonObject) -> JsonObject:
    return {name: value for name, value in row.items() if isinstance(value, str | int | float)}


def _words(value: JsonValue) -> Iterator[str]:
    """Yield all texts in a value except single letters, which match by chance."""
    return (text for text in texts_in(value) if len(text) > 1)


def _time(row: JsonObject) -> str:
    return max((value for value in row.values() if isinstance(value, str) and _TIME.match(value)), default="")
