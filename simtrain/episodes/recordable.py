"""Actions as they can be recorded, whatever an agent hands over."""

from contextlib import suppress
from dataclasses import replace

from simtrain.values.types import Action, encode, is_list, is_object

MAX_MALFORMED = 2000


def recordable(action: Action) -> Action:
    """Return the action, with arguments that are no JSON object (foreign objects, endless nesting) turned into malformed ones.

    Integers beyond 64 bits become the nearest number of double precision, as most readers of JSON take them.
    """
    if is_object(action.arguments):
        try:
            encode([action.tool, action.arguments])
            return action
        except TypeError:
            with suppress(OverflowError, RecursionError, TypeError):
                nearest = _in_reach(action.arguments)
                encode([action.tool, nearest])
                return replace(action, arguments=nearest)
    return Action(action.id, readable(action.tool), {}, readable(action.arguments)[:MAX_MALFORMED])


def _in_reach(value: object) -> object:
    """Return the value with integers beyond 64 bits as floats. Raises OverflowError for one that is beyond those too."""
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return float(value)
    if is_list(value):
        return [_in_reach(item) for item in value]
    if is_object(value):
        return {key: _in_reach(item) for key, item in value.items()}
    return value


def readable(value: object) -> str:
    """Return any object as text that can be written: itself where it is text, else as Python shows it."""
    text = value if isinstance(value, str) else repr(value)
    return text.encode("utf-8", "replace").decode()
