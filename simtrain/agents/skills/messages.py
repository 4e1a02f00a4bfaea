"""Read the message of an error reply out of the JSON around it, the names that it quotes, and the texts of any reply."""

import json
import re
from collections.abc import Iterable, Iterator

from simtrain.values.types import JsonObject, JsonValue, is_list, is_object

_QUOTED = re.compile(r"""(?<!\w)['"`]([^'"`\n]{1,80})['"`]""")


def message_in(text: str) -> str:
    """Return the sentence that an error says: its longest text, where it is JSON."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return max(texts_in(value), key=len, default=text)


def quoted_in(text: str) -> list[str]:
    """Return the names between quotation marks in what an error says, in order."""
    return list(dict.fromkeys(_QUOTED.findall(message_in(text))))


def texts_in(value: JsonValue) -> Iterator[str]:
    """Yield every text in a value, however deep."""
    if isinstance(value, str):
        yield value
    for item in children(value):
        yield from texts_in(item)


def children(value: JsonValue) -> Iterable[JsonValue]:
    """Return what an object or a list holds, one level deep; nothing for other values."""
    if is_object(value):
        return value.values()
    return value if is_list(value) else ()


def plain_texts(record: JsonObject) -> Iterator[str]:
    """Yield the fields of a record, or the arguments of a call, that are texts."""
    return (value for value in record.values() if isinstance(value, str))
