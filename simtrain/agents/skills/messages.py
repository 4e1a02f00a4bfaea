"""Extract the message of an error reply from the JSON around it, the names that it quotes, and the texts of any reply."""

import json
import re
from collections.abc import Iterator

from simtrain.values.json_walk import texts_in
from simtrain.values.types import JsonObject

_QUOTED = re.compile(r"""(?<!\w)['"`]([^'"`\n]{1,80})['"`]""")


def message_in(text: str) -> str:
    """Return the message of an error: its longest text, if it is JSON."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return max(texts_in(value), key=len, default=text)


def quoted_in(text: str) -> list[str]:
    """Return the names in quotation marks in an error's message, in order."""
    return list(dict.fromkeys(_QUOTED.findall(message_in(text))))


def plain_texts(record: JsonObject) -> Iterator[str]:
    """Yield the values of a record, or of a call's arguments, that are texts."""
    return (value for value in record.values() if isinstance(value, str))
