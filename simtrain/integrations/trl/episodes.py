"""The open episodes of a trainer's process, and the last message of a conversation."""

from collections.abc import Sequence
from functools import cache

from simtrain.public import Sessions
from simtrain.values.types import JsonObject, JsonValue, is_list, is_object

CUT_OFF = "the model's reply was cut off at the token limit: no answer"


@cache
def sessions() -> Sessions:
    """Return the sessions of this process; their agent is called `trl` in trajectories."""
    return Sessions(agent="trl")


def last_words(completion: Sequence[JsonObject] | str) -> str | None:
    """Return the model's last message to the user; None if the conversation ends with a call or a reply."""
    if isinstance(completion, str):
        return completion
    last = completion[-1] if completion else {}
    if last.get("role") != "assistant" or last.get("tool_calls"):
        return None
    return text_of(last.get("content"))


def text_of(content: JsonValue) -> str:
    """Return the text of a message's content, which may be a list of blocks."""
    if is_list(content):
        return "".join(str(block.get("text") or "") for block in content if is_object(block))
    return content if isinstance(content, str) else ""
