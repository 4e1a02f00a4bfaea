"""What several commands share: printing JSON, ending with an error, a console."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn, cast

from simtrain.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from simtrain.types import JsonObject, JsonValue


def fail(error: InputError) -> NoReturn:
    """Print one line and end with exit code 2."""
    print(f"error: {error}", file=sys.stderr)
    sys.exit(2)


def console() -> Console:
    """A rich console on standard output; text of worlds and agents is printed as it is, never as markup."""
    from rich.console import Console

    return Console(markup=False, highlight=False, emoji=False)


def print_json(value: object) -> None:
    """Print one JSON document."""
    import orjson

    sys.stdout.write(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode())


def knobs_from(pairs: Sequence[str]) -> JsonObject:
    """`name=value` pairs as knobs; a value that reads as JSON is taken as JSON. Raises InputError."""
    import orjson

    found: dict[str, JsonValue] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise InputError(f"{pair!r} is not name=value", remedy="write it like --with temperature=0.2")
        try:
            found[name] = orjson.loads(value)
        except orjson.JSONDecodeError:
            found[name] = value
    return cast("JsonObject", found)
