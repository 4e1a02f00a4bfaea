"""Match known tools, and their arguments, to the renamed ones that are offered."""

from collections.abc import Iterable, Mapping, Sequence

from simtrain.agents.planned import Planned
from simtrain.agents.skills.naming import likeness, meaning, words
from simtrain.contracts.plan import CallStep
from simtrain.files.json_schemas import properties_of
from simtrain.values.tool_words import Intent, tool_words
from simtrain.values.types import JsonObject, JsonValue, ToolSpec

LEAST = 2.0
"""Similarity below which a tool counts as gone, not renamed."""

_READING: frozenset[Intent | None] = frozenset({"get", "list", "search"})


def new_names(steps: Iterable[CallStep], tools: Sequence[ToolSpec]) -> dict[str, str]:
    """Return known name -> offered name for the tools that are called but not offered: the most similar, each at most once."""
    called: dict[str, set[str]] = {}
    for step in steps:
        called.setdefault(step.call, set()).update(step.arguments)
    offered = {tool.name for tool in tools}
    missing = {name: arguments for name, arguments in called.items() if name not in offered}
    # A tool that the plan calls under its own name is not another one renamed.
    free = [tool for tool in tools if tool.name not in called]
    scored = ((_score(name, arguments, tool), name, tool.name) for name, arguments in missing.items() for tool in free)
    return _paired(triple for triple in scored if triple[0] >= LEAST)


def _paired(scored: Iterable[tuple[float, str, str]]) -> dict[str, str]:
    """Return pairs of names by descending score, each name at most once."""
    found: dict[str, str] = {}
    for _, name, other in sorted((-score, name, other) for score, name, other in scored):
        if name not in found and other not in found.values():
            found[name] = other
    return found


def _score(name: str, arguments: set[str], tool: ToolSpec) -> float:
    """Return how similar a tool is to the known one, by server, subject, verb and arguments."""
    server, _, plain = name.rpartition(".")
    other_server, _, other = tool.name.rpartition(".")
    intent = tool_words(name).intent
    intents = {tool_words(tool.name).intent, *(tool_words(word).intent for word in tool.description.split()[:3])}
    taken = properties_of(tool.input_schema)
    score = 2.0 * (server == other_server) + 3.0 * likeness(plain, other)
    score += 1.0 * (intent is not None and intent in intents)
    score += 0.5 * len(meaning(plain) & meaning(" ".join(tool.description.split()[:12])))
    # A read that is taken for a write, or the other way round, is the costliest mistake of all.
    if intent is not None:
        score -= 1.0 * ((intent in _READING) is tool.writes)
    for argument in arguments:
        score += max((likeness(argument, known) for known in taken), default=0.0) - 0.5
    needed = tool.input_schema.get("required", [])
    return score - 0.5 * max(len(needed) - len(arguments), 0)


def renamed_arguments(arguments: Mapping[str, JsonValue], tool: ToolSpec) -> JsonObject:
    """Return the arguments under the names that the tool declares: ones that mean the same, fit the value, or are the only ones left."""
    taken = properties_of(tool.input_schema)
    strange = [name for name in arguments if name not in taken]
    if not strange or not taken:
        return dict(arguments)
    free = [name for name in taken if name not in arguments]
    scored = (
        (_argument_score(name, arguments[name], other, taken[other]), name, other) for name in strange for other in free
    )
    names = _paired(triple for triple in scored if triple[0] > 0)
    return {names.get(name, name): value for name, value in arguments.items()}


def _argument_score(name: str, value: JsonValue, other: str, schema: JsonObject) -> float:
    described = {word.strip(".,:;()`") for word in str(schema.get("description", "")).lower().split()}
    score = 3.0 * likeness(name, other) + 0.5 * len({*words(name)} & described)
    choices = schema.get("enum", [])
    if choices:
        # A value outside the enumeration, or of another type, rules the argument out whatever its name.
        score += 2.0 if value in choices else -5.0
    kinds: JsonValue = schema.get("type")
    if isinstance(kinds, str):
        score += 0.3 if _fits(value, kinds) else -5.0
    return score


def _fits(value: JsonValue, kind: str) -> bool:
    if kind == "boolean" or isinstance(value, bool):
        return kind == "boolean" and isinstance(value, bool)
    if kind in ("number", "integer"):
        return isinstance(value, int | float)
    shapes = {"string": str, "array": list, "object": dict}
    return kind not in shapes or isinstance(value, shapes[kind])


def translated(planned: Planned, names: Mapping[str, str], tools: Mapping[str, ToolSpec]) -> Planned:
    """Return a call with the names of the offered tools; unchanged if its tool is neither offered nor known to be renamed."""
    tool = tools.get(names.get(planned.tool, planned.tool))
    return planned if tool is None else Planned(tool.name, renamed_arguments(planned.arguments, tool))
