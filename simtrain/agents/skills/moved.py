"""Follow a page that has moved: replace the old URL in the call by the one that the error names."""

import re
from collections.abc import Iterator

from simtrain.agents.planned import Planned
from simtrain.agents.skills.messages import message_in
from simtrain.values.types import JsonObject, JsonValue, is_list

MOST = 6
"""Consecutive redirects that are followed."""

_MOVED = re.compile(r"\b30[12378]\b|\bmoved\b|\bredirect", re.IGNORECASE)
_URL = re.compile(r"https?://[^\s\"'<>()\[\]{}|\\^`]+")
_ENDING = ".,;:!?"


def followed(planned: Planned, error: str) -> Planned | None:
    """Return the call with the new URL that an error names; None if the error does not say that a page moved."""
    if not _MOVED.search(error):
        return None
    given = {value for value in _texts(planned.arguments) if "://" in value}
    # A full stop or comma after a URL belongs to the sentence.
    named = [url.rstrip(_ENDING) for url in _URL.findall(message_in(error))]
    onward = [url for url in dict.fromkeys(named) if url not in given]
    # With more or fewer new addresses than old ones it is open which belongs to which.
    if not given or len(onward) != len(given):
        return None
    places = dict(zip([value for value in _texts(planned.arguments) if value in given], onward, strict=False))
    return Planned(planned.tool, {name: _respelt(value, places) for name, value in planned.arguments.items()})


def _texts(arguments: JsonObject) -> Iterator[str]:
    for value in arguments.values():
        for item in value if is_list(value) else [value]:
            if isinstance(item, str):
                yield item


def _respelt(value: JsonValue, places: dict[str, str]) -> JsonValue:
    if is_list(value):
        return [_respelt(item, places) for item in value]
    return places.get(value, value) if isinstance(value, str) else value
