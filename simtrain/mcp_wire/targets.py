"""Where an MCP server is: a command that speaks on its standard input and output, or the URL of a streamable HTTP endpoint."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit, urlunsplit

from simtrain.errors import InputError


@dataclass(frozen=True)
class StdioTarget:
    """A command to start. `env` is added to what every server inherits (INHERITED in stdio.py); `cwd` defaults to ours."""

    command: tuple[str, ...]
    env: Mapping[str, str] | None = field(default=None, repr=False)
    cwd: Path | None = None

    def __str__(self) -> str:
        """The program, for messages: its arguments and environment may hold secrets."""
        return Path(self.command[0]).name


@dataclass(frozen=True)
class HttpTarget:
    """A URL, and headers that go with every request."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    def __str__(self) -> str:
        """The URL, for messages, without user, password and query, which may hold secrets."""
        parts = urlsplit(self.url)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


Target: TypeAlias = StdioTarget | HttpTarget


def parse_target(text: str) -> Target:
    """A server as it is written on a command line: an http(s) URL, else a command as a shell would split it. Raises InputError."""
    if text.lower().startswith(("http://", "https://")):
        return http_target(text)
    try:
        command = tuple(shlex.split(text))
    except ValueError as error:
        raise InputError(f"the command {text!r} cannot be read: {error}", remedy="close the quotation") from None
    if not command:
        raise InputError("no server is named", remedy="give a command or an http(s) URL")
    return StdioTarget(command)


def http_target(url: str, headers: Mapping[str, str] | None = None) -> HttpTarget:
    """A URL, checked. Raises InputError for one without a host, and for a header that HTTP cannot carry."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme.lower() in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise InputError(f"{url!r} is no http(s) URL", remedy="write it like http://127.0.0.1:8000/mcp")
    for name, value in (headers or {}).items():
        if not name or any(letter in name + value for letter in "\r\n\0"):
            raise InputError(f"the header {name!r} cannot be sent", remedy="keep names and values on one line")
    return HttpTarget(url, dict(headers or {}))
