"""The open episodes of a trainer's process, and what a conversation's last message says."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from simtrain.public import Sessions
from simtrain.values.types import JsonObject, JsonValue, is_list, is_object

CUT_OFF = "the model's reply was cut off at the token limit: no answer"


@cache
def sessions() -> Sessions:
    """Return the sessions of this process; trajectories call who plays them `trl`."""
    return Sessions(agent="trl")


def last_words(completion: Sequence[JsonObject] | str) -> str | None:
    """Return what the model said last to the user; None if it ended with a call that nobody carried out, or with a reply."""
    if isinstance(completion, str):
        return completion
    last = completion[-1] if completion else {}
    if last.get("role") != "assistant" or last.get("tool_calls"):
        return None
    return text_of(last.get("content"))


def text_of(content: JsonValue) -> str:
    """Return the text of a message's content, which may stand in blocks."""
    if is_list(content):
        return "".join(str(block.get("text") or "") for block in content if is_object(block))
    return content if isinstance(content, str) else ""
