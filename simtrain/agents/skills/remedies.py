"""Find tools that remove the cause of an error: they renew, install, request or free what the error says is missing."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from simtrain.agents.planned import Planned
from simtrain.agents.skills.messages import message_in, quoted_in
from simtrain.files.json_schemas import properties_of
from simtrain.values.tool_words import tool_words
from simtrain.values.types import JsonObject, JsonValue, ToolSpec

MOST = 6
"""How often one remedy is tried in an episode."""

_WORD = re.compile(r"[A-Za-z]{4,}")
_COMMON = frozenset(
    {
        "this", "that", "with", "from", "have", "been", "were", "will", "your", "there", "they", "which", "what", "when", "then", "than",
        "them", "only", "more", "some", "after", "before", "tool", "tools", "call", "calls", "error", "request", "service", "server",
        "failed", "again", "later", "first", "please", "detail", "message", "status", "type", "title", "code", "about", "blank"
    }
)  # fmt: skip
_STEM = 6


class Remedies:
    """The tools that the plan does not use, and how often each was tried."""

    def __init__(self, tools: Sequence[ToolSpec], planned: frozenset[str]) -> None:
        # Never a tool that deletes, and none of the plan's own: a remedy must not do part of the task.
        self._spare = [tool for tool in tools if tool.name not in planned and tool_words(tool.name).intent != "delete"]
        self._names = frozenset(tool.name for tool in tools)
        self._tried: Counter[str] = Counter()

    def against(self, error: str, planned: Planned, known: Mapping[str, JsonValue]) -> Iterator[Planned]:
        """Yield calls that may remove the cause of an error, most likely first; yielding one counts as trying it."""
        for _, tool, named in sorted(self._scored(error, planned), key=lambda item: -item[0]):
            # A remedy that the error does not name gets only values that the error quotes: a guess could do harm.
            arguments = self._arguments(tool, error, known if named else {})
            if arguments is not None and self._tried[tool.name] < MOST:
                self._tried[tool.name] += 1
                yield Planned(tool.name, arguments)

    def _scored(self, error: str, planned: Planned) -> Iterator[tuple[float, ToolSpec, bool]]:
        """Yield the tools that the error suggests, and whether it names them; otherwise it shares several words with their description."""
        stems = _stems(message_in(error))
        server = planned.tool.partition(".")[0]
        for tool in self._spare:
            own = tool.name.rpartition(".")[2]
            named = tool.name in error or ("_" in own and own in error)
            shared = stems & _stems(f"{own} {tool.description}")
            doing = stems & _stems(f"{own} {tool.description.split(' ', 1)[0]}")
            fits = len(shared) > 2 or (len(shared) > 1 and doing)
            if named or (fits and not set(tool.input_schema.get("required", [])) - _named(tool)):
                yield 3.0 * named + len(shared) + len(doing) + 2.0 * (tool.server == server), tool, named

    def _arguments(self, tool: ToolSpec, error: str, known: Mapping[str, JsonValue]) -> JsonObject | None:
        """Return arguments for a remedy: the names that the error quotes, except tools, or values known under the arguments' names."""
        quoted = [name for name in quoted_in(error) if " " not in name and name not in self._names]
        arguments: JsonObject = {}
        for name in tool.input_schema.get("required", []):
            if quoted:
                # Errors quote what is missing; values from memory are a guess.
                arguments[name] = quoted[0]
            elif name in known:
                arguments[name] = known[name]
            else:
                return None
        return arguments


def _stems(text: str) -> set[str]:
    found = (word.lower() for word in _WORD.findall(text.replace("_", " ")))
    return {word[:_STEM].rstrip("es") for word in found if word not in _COMMON}


def _named(tool: ToolSpec) -> set[str]:
    """Return the required arguments that name what is missing: texts that are not ids of records."""
    properties = properties_of(tool.input_schema)
    return {name for name, schema in properties.items() if schema.get("type") == "string" and not name.endswith("_id")}
