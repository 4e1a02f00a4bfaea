"""Targets: the command of a stdio server, or the URL of a streamable HTTP endpoint."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit, urlunsplit

from simtrain.values.errors import InputError


@dataclass(frozen=True)
class StdioTarget:
    """A command to start. `env` is added to the inherited variables (INHERITED in stdio.py); `cwd` defaults to ours."""

    command: tuple[str, ...]
    env: Mapping[str, str] | None = field(default=None, repr=False)
    cwd: Path | None = None

    def __str__(self) -> str:
        """Return the server's name, for messages: arguments and environment may hold secrets."""
        return server_name(self)


@dataclass(frozen=True)
class HttpTarget:
    """A URL, and headers that go with every request."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    def __str__(self) -> str:
        """Return the URL for messages, without user, password and query, which may hold secrets."""
        parts = urlsplit(self.url)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


Target: TypeAlias = StdioTarget | HttpTarget


def parse_target(text: str) -> Target:
    """Return the server named by a word of the command line: an http(s) URL, or a command to split like a shell. Raises InputError."""
    if text.lower().startswith(("http://", "https://")):
        return http_target(text)
    try:
        command = tuple(shlex.split(text))
    except ValueError as error:
        raise InputError(f"the command {text!r} cannot be read: {error}", remedy="close the quotation") from None
    if not command:
        raise InputError("no server is named", remedy="give a command or an http(s) URL")
    # Usually the option of a command that was given without quotes.
    if command[0].startswith("-"):
        raise InputError(f"{text!r} is not a command", remedy="write each command with its arguments in quotes")
    return StdioTarget(command)


def http_target(url: str, headers: Mapping[str, str] | None = None) -> HttpTarget:
    """Return a checked target. Raises InputError for a URL without a host, and for a header that HTTP cannot carry."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme.lower() in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise InputError(f"{url!r} is not an http(s) URL", remedy="write it like http://127.0.0.1:8000/mcp")
    for name, value in (headers or {}).items():
        if not name or any(letter in name + value for letter in "\r\n\0"):
            raise InputError(f"the header {name!r} cannot be sent", remedy="keep names and values on one line")
    return HttpTarget(url, dict(headers or {}))


def server_name(target: Target) -> str:
    """Return a short name for a server, from its package, script or host: letters, digits, `-` and `_`.

    `npx -y @modelcontextprotocol/server-memory` is `memory`, `python -m mcp_server_git` is `git`, `https://mcp.linear.app/sse` is `linear`.
    """
    if isinstance(target, HttpTarget):
        host = (urlsplit(target.url).hostname or "").removeprefix("www.").removeprefix("mcp.").removeprefix("api.")
        # An IP address has no top-level domain to leave out.
        bare = host.rpartition(".")[0] if not host.replace(".", "").isdigit() else host
        return _plain(bare or host)
    words = [word for word in target.command if not word.startswith("-")]
    if Path(target.command[0]).name in ("docker", "podman"):
        # The image comes after options that take values.
        words = words[-1:]
    while len(words) > 1 and (Path(words[0]).name.rstrip("0123456789.") in _LAUNCHERS or "=" in words[0]):
        words = words[1:]
    parts = [part for part in words[0].split("/") if part]
    # In the scope of an npm package, `@` does not begin a version.
    stems = [part if part.startswith("@") else _stem(part) for part in parts]
    telling = [name for part in stems if (name := _plain(_AFFIXES.sub("", part))) and name not in _GENERIC]
    return telling[-1] if telling else _plain(stems[-1] if stems else "")


_LAUNCHERS = frozenset(
    "env npx bunx pnpm yarn npm exec dlx run node bun deno python uv uvx pipx tsx ts-node sh bash".split()  # noqa: SIM905
)
_GENERIC = frozenset("mcp server index main cli app dist build src bin lib __main__ stdio".split())  # noqa: SIM905
_AFFIXES = re.compile(r"^(?:mcp[-_]server|server|mcp)[-_]|[-_](?:mcp[-_]server|server[-_]mcp|mcp|server)$")


def _stem(part: str) -> str:
    """Return a file or package name without its extension and without a version after `@` or `:`."""
    return re.sub(r"\.(?:m?js|cjs|ts|py|sh|exe)$", "", re.split(r"[@:]", part, maxsplit=1)[0])


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or "server"
