"""Actions as they can be recorded, whatever an agent hands over."""

from contextlib import suppress
from dataclasses import replace

from simtrain.values.types import Action, encode, is_list, is_object

MAX_MALFORMED = 2000


def recordable(action: Action) -> Action:
    """Return the action if it can be written as JSON, else one whose arguments (foreign objects, endless nesting) are marked malformed.

    Integers beyond 64 bits become the nearest double, as in most JSON parsers.
    """
    if is_object(action.arguments):
        try:
            encode([action.tool, action.arguments])
            return action
        except TypeError:
            # Tried only after encoding failed: walking the arguments of every call would cost more than the call itself.
            with suppress(OverflowError, RecursionError, TypeError):
                nearest = _in_reach(action.arguments)
                encode([action.tool, nearest])
                return replace(action, arguments=nearest)
    return Action(action.id, readable(action.tool), {}, readable(action.arguments)[:MAX_MALFORMED])


def _in_reach(value: object) -> object:
    """Return the value with integers beyond 64 bits as floats. Raises OverflowError beyond the range of floats."""
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return float(value)
    if is_list(value):
        return [_in_reach(item) for item in value]
    if is_object(value):
        return {key: _in_reach(item) for key, item in value.items()}
    return value


def readable(value: object) -> str:
    """Return any object as text that UTF-8 can encode: text as it is, other objects as `repr` shows them."""
    text = value if isinstance(value, str) else repr(value)
    return text.encode("utf-8", "replace").decode()
