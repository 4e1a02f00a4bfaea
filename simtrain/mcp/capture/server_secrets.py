"""The secrets of one server: its headers, secret arguments and variables, and API keys in our own environment."""

import os
import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

from simtrain.files.redaction import REDACTED, Redactor, names_secret
from simtrain.mcp_wire.targets import HttpTarget, StdioTarget, Target
from simtrain.values.types import JsonObject

_FOLDERS = frozenset({"PWD", "OLDPWD"})
"""Variables in which shells keep the working folder; not passwords, in spite of their names."""
_KEY = re.compile(r"(?:^|_)KEY$", re.IGNORECASE)
"""An environment variable with such a suffix is secret; a JSON member named `key` may be any key."""


def secrets_of(target: Target, *, environ: Mapping[str, str] | None = None) -> list[str]:
    """Return the values that must not appear in anything written about a server, including those of our own environment."""
    variables = dict(os.environ if environ is None else environ)
    found = _in_url(target) if isinstance(target, HttpTarget) else _in_command(target)
    if isinstance(target, StdioTarget):
        variables |= dict(target.env or {})
    telling = (name for name in variables if names_secret(name) or _KEY.search(name))
    found += [variables[name] for name in telling if name not in _FOLDERS]
    return found


def source_of(target: Target, hidden: Redactor) -> JsonObject:
    """Return a server's source in the form of a manifest: only the names of headers and variables, no secrets."""
    if isinstance(target, HttpTarget):
        return {"url": hidden.url(target.url), "headers": sorted(target.headers)}
    return {"command": hidden.command(target.command), "env": sorted(target.env or {})}


def _in_url(target: HttpTarget) -> list[str]:
    parts = urlsplit(target.url)
    values = list(target.headers.values())
    # A server may echo the token of `Bearer TOKEN` without its scheme.
    bare = [value.partition(" ")[2] for value in values if " " in value]
    query = [value for name, value in parse_qsl(parts.query) if names_secret(name)]
    return [*values, *bare, parts.password or "", *query]


def _in_command(target: StdioTarget) -> list[str]:
    found: list[str] = []
    for word, hidden in zip(target.command, Redactor().command(target.command), strict=True):
        if hidden == REDACTED:
            found.append(word)
        elif hidden.endswith(f"={REDACTED}"):
            found.append(word.partition("=")[2])
    return found
