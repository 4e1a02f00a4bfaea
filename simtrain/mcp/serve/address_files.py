"""Files with the addresses of `simtrain serve`: written atomically, readable by their owner only, removed when serving ends."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject

if TYPE_CHECKING:
    from simtrain.mcp.serve.listening import Door


@contextmanager
def control_file(path: Path) -> Generator[Callable[[Door], None]]:
    """Yield a function that writes URL and token of the control plane; it replaces an existing file. Raises InputError at once."""
    with _passing_file(path, "--control-file") as write:
        yield lambda door: write({"url": door.control_url, "token": door.control_token, "mcp": door.url})


@contextmanager
def client_config(path: Path, *, token_variable: str | None = None) -> Generator[Callable[[Mapping[str, str]], None]]:
    """Yield a function that writes an `mcp.json` of servers (name -> URL), in the form read by Claude, Cursor and others.

    Clients take the bearer token from the environment variable `token_variable`, if given. Raises InputError at once, also for an
    existing file, which may be the user's own.
    """
    if path.exists():
        raise InputError("the file exists already", remedy="name another file with --write-config", file=path)
    headers: JsonObject = {"headers": {"Authorization": f"Bearer ${{{token_variable}}}"}} if token_variable else {}
    with _passing_file(path, "--write-config") as write:
        yield lambda servers: write(
            {"mcpServers": {name: {"type": "http", "url": url, **headers} for name, url in servers.items()}}
        )


@contextmanager
def _passing_file(path: Path, option: str) -> Generator[Callable[[JsonObject], None]]:
    remedy = f"name another file with {option}"
    if path.is_dir():
        raise InputError("this is a folder", remedy=remedy, file=path)
    begun = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with ExitStack() as stack:
        try:
            # Mode 0600 from the start, and O_EXCL against a planted link: the file will hold a token.
            descriptor = os.open(begun, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            stack.callback(begun.unlink, missing_ok=True)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", remedy=remedy, file=path) from None
        file = stack.enter_context(os.fdopen(descriptor, "wb"))

        def publish(facts: JsonObject) -> None:
            file.write(orjson.dumps(facts, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
            file.flush()
            begun.replace(path)
            stack.callback(path.unlink, missing_ok=True)

        yield publish
