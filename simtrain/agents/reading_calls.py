"""A model's calls as actions: with ids that are unique in the episode, and arguments that can be recorded."""

from functools import reduce

import orjson

from simtrain.contracts.trajectory import Turn
from simtrain.llm.completion import ToolCall
from simtrain.values.types import Action, JsonObject, encode, is_object

_LEVELS_ABOVE = 20


class CallReader:
    """The calls of one episode."""

    __slots__ = ("_ids",)

    def __init__(self) -> None:
        self._ids: set[str] = set()

    def note(self, turn: Turn) -> None:
        """Take note of the ids of a turn that is in the journal."""
        self._ids.update(step.action.id for step in turn.steps)

    def action(self, call: ToolCall) -> Action:
        """Return the action of a call."""
        # Some servers number the calls of each message from 0 again; an action's id is unique in its episode.
        id = call.id if call.id not in self._ids else f"{call.id}-{len(self._ids)}"
        self._ids.add(id)
        arguments = _object(call.arguments)
        if arguments is None:
            return Action(id, call.name, {}, malformed=call.arguments)
        written = None if call.arguments == encode(arguments) else call.arguments
        return Action(id, call.name, arguments, written=written)


def _object(text: str) -> JsonObject | None:
    """Return the JSON object in a text; None if it holds none, or one too deep to be recorded."""
    try:
        value = orjson.loads(text)
        # JSON is read to a depth of 1024 and written to one of 254, and a trajectory holds arguments some levels down.
        orjson.dumps(reduce(lambda inner, _: [inner], range(_LEVELS_ABOVE), value))
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return None
    return value if is_object(value) else None
