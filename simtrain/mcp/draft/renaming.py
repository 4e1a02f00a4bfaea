"""Recordings with replaced words: a text that was written must be read back, whatever it is.

A draft with hard-coded replies returns the old words; one that stores its input returns the new ones.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from simtrain.mcp.draft.observed import Observed, RecordedCall
from simtrain.mcp.verify.pairing import rewritten
from simtrain.values.json_walk import texts_in
from simtrain.values.types import JsonObject

SHORTEST = 5
SUFFIX = " anew"
"""Appended to the old words, so that searches and sort orders stay the same."""

_WORDS = re.compile(r"[^\W\d_][\w '&,-]*", re.ASCII)


def renamed(observed: Observed) -> list[RecordedCall]:
    """Return the recorded calls with new words for the free texts that write calls received and later replies returned."""
    return [
        call
        for recorded_session in sorted({call.recorded_session for call in observed.calls})
        for call in _recorded_session(observed, recorded_session)
    ]


def _recorded_session(observed: Observed, recorded_session: int) -> Iterator[RecordedCall]:
    calls = [call for call in observed.calls if call.recorded_session == recorded_session]
    texts = _free_texts(observed, calls)
    if not texts:
        yield from calls
        return
    # Longest first, since one text may contain another.
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(text)}(?!\w)" for text in sorted(texts, key=len, reverse=True)))

    def change(text: str) -> str:
        return pattern.sub(lambda found: found[0] + SUFFIX, text)

    for call in calls:
        arguments = rewritten(call.arguments, lambda text: text + SUFFIX if text in texts else text)
        yield replace(call, arguments=arguments, response=_values(call.response, change))


def _values(response: JsonObject, change: object) -> JsonObject:
    return rewritten(response, change)  # pyright: ignore[reportArgumentType]


def _free_texts(observed: Observed, calls: Sequence[RecordedCall]) -> set[str]:
    """Return texts that first occur in a call and then in a later reply: free text, not enum values, ids or search terms."""
    fixed = {text for tool in observed.tools.values() for text in texts_in(tool)}
    found: set[str] = set()
    seen = ""
    for index, call in enumerate(calls):
        later = "\n".join(_reply_text(other.response) for other in calls[index + 1 :])
        for text in texts_in(call.arguments):
            free = len(text) >= SHORTEST and _WORDS.fullmatch(text) is not None and text not in fixed
            if free and text not in seen and text in later:
                found.add(text)
        seen += "\n" + _reply_text(call.response)
    # A text that contains another call's argument may be the target of a search: both would have to change together.
    given = {text for call in calls for text in texts_in(call.arguments)}
    return {text for text in found if not any(text != other and text in other for other in given)}


def _reply_text(response: JsonObject) -> str:
    return "\n".join(texts_in(response))
