"""Map tool names to names that chat servers accept: letters, digits, underscore and hyphen, at most 64 characters."""

import re
from collections.abc import Iterable
from hashlib import blake2b

from simtrain.values.types import JsonObject, ToolSpec

LONGEST = 64

_REFUSED = re.compile(r"[^A-Za-z0-9_-]")


def wire_names(names: Iterable[str]) -> dict[str, str]:
    """Return native tool name -> name on the wire: unique, and matching `^[A-Za-z0-9_-]{1,64}$`.

    An allowed name is unchanged; in others each refused character becomes an underscore. If that is too long
    or already taken, a digest of the native name makes it unique. The pattern is that of OpenAI's function names.
    """
    natives = list(dict.fromkeys(names))
    # Allowed names first, so that a replaced one never takes the name of a tool that is allowed as it is.
    found = {name: name for name in natives if 0 < len(name) <= LONGEST and not _REFUSED.search(name)}
    taken = set(found)
    for name in natives:
        if name not in found:
            found[name] = _free(name, taken)
            taken.add(found[name])
    return {name: found[name] for name in natives}


def definition(tool: ToolSpec, name: str) -> JsonObject:
    """Return a tool under its name on the wire, as OpenAI-style function definition: `{"type": "function", "function": {...}}`."""
    return {
        "type": "function",
        "function": {"name": name, "description": tool.description, "parameters": tool.input_schema},
    }


def _free(native: str, taken: set[str]) -> str:
    plain = _REFUSED.sub("_", native)
    if 0 < len(plain) <= LONGEST and plain not in taken:
        return plain
    attempt = 0
    while True:
        mark = blake2b(f"{attempt}:{native}".encode(), digest_size=4).hexdigest()
        name = f"{plain[: LONGEST - len(mark) - 1]}_{mark}"
        if name not in taken:
            return name
        attempt += 1
