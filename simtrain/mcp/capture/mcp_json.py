"""`mcp.json` files as Claude, Cursor, VS Code, Windsurf and Gemini write them: servers by name, variables filled in.

Sources: the clients' documentation of `mcpServers` (Claude, Cursor: `${VAR}`, `${VAR:-default}`, `${env:VAR}`) and of `servers` with
`inputs` (VS Code: `${input:id}`), whose files may contain comments and trailing commas.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from simtrain.files.file_bytes import file_bytes, parsed_json
from simtrain.mcp_wire.targets import HttpTarget, StdioTarget, Target, http_target
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, JsonValue, is_list, is_object

MAX_BYTES = 4_000_000


@dataclass(frozen=True)
class ConfiguredServer:
    """A server to capture, and its name. `target` is an InputError if the file does not say enough to start it."""

    name: str
    target: Target | InputError


def read_mcp_json(path: Path, *, environ: Mapping[str, str] | None = None) -> tuple[ConfiguredServer, ...]:
    """Return the servers in a file, in its order, except disabled ones.

    A server with unset variables is returned with the InputError that says so, since the others can still be captured.
    Raises InputError for a file that cannot be read or has no servers.
    """
    document = _read(path)
    nested = document.get("mcp")
    servers: JsonValue = document.get("mcpServers") or document.get("servers")
    if servers is None and is_object(nested):
        # As in VS Code's settings.json.
        servers = nested.get("servers")
    if not is_object(servers) or not servers:
        raise InputError("the file names no servers", remedy='they belong under "mcpServers" or "servers"', file=path)
    folder = path.absolute().parent
    # Editors keep the file in a folder of their own, and mean the folder above by workspaceFolder.
    workspace = folder.parent if folder.name in (".vscode", ".cursor") else folder
    reader = _Reader(path, os.environ if environ is None else environ, workspace)
    return tuple(
        ConfiguredServer(name, reader.target(name, entry))
        for name, entry in servers.items()
        if not (is_object(entry) and entry.get("disabled") is True)
    )


class _Reader:
    """Reads the entries of one file."""

    def __init__(self, path: Path, environ: Mapping[str, str], workspace: Path) -> None:
        self._path = path
        self._environ = environ
        self._places = {
            "workspaceFolder": workspace,
            "workspaceFolderBasename": workspace.name,
            "userHome": Path.home(),
        }

    def target(self, name: str, entry: JsonValue) -> Target | InputError:
        """Return the command or URL of an entry."""
        try:
            if not is_object(entry):
                raise InputError("this is not an object")
            return self._target(entry)
        except InputError as error:
            # Returned, not raised: one bad entry must not keep the others from being captured.
            return error.at(file=self._path, place=name)

    def _target(self, entry: JsonObject) -> Target:
        url: JsonValue = entry.get("url") or entry.get("serverUrl") or entry.get("httpUrl")
        kind: JsonValue = entry.get("type") or entry.get("transport")
        # Replaced by streamable HTTP in revision 2025-03-26.
        if kind == "sse":
            raise InputError(
                "its type is sse, a transport that has been replaced", remedy="use its http URL, if it has one"
            )
        if kind not in (None, "stdio", "http", "streamable-http", "streamableHttp"):
            raise InputError(f"its type {kind!r} is not known", remedy="known: stdio, http")
        if url is not None and kind != "stdio":
            return self._http(url, entry)
        if "command" not in entry:
            raise InputError("it has neither a command nor a URL")
        return self._stdio(entry)

    def _http(self, url: JsonValue, entry: JsonObject) -> HttpTarget:
        return http_target(self._fill(url, "url"), self._texts(entry, "headers"))

    def _stdio(self, entry: JsonObject) -> StdioTarget:
        arguments: JsonValue = entry.get("args", [])
        if not is_list(arguments):
            raise InputError("args is not a list")
        words = [self._fill(word, "args") for word in arguments]
        env = self._env_file(entry) | self._texts(entry, "env")
        cwd = Path(self._fill(entry["cwd"], "cwd")).expanduser() if entry.get("cwd") else None
        command = self._fill(entry["command"], "command").strip()
        if not command:
            raise InputError("its command is empty")
        return StdioTarget((command, *words), env, cwd)

    def _texts(self, entry: JsonObject, key: str) -> dict[str, str]:
        fields: JsonValue = entry.get(key) or {}
        if not is_object(fields):
            raise InputError(f"{key} is not an object")
        return {name: self._fill(value, f"{key}.{name}") for name, value in fields.items()}

    def _env_file(self, entry: JsonObject) -> dict[str, str]:
        if "envFile" not in entry:
            return {}
        path = Path(self._fill(entry["envFile"], "envFile")).expanduser()
        try:
            lines = file_bytes(path, most=MAX_BYTES).decode("utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            raise InputError(f"its envFile {path} cannot be read") from None
        pairs = [line.strip().removeprefix("export ").partition("=") for line in lines]
        return {name.strip(): value.strip().strip("\"'") for name, equals, value in pairs if equals and name[0] != "#"}

    def _fill(self, value: JsonValue, place: str) -> str:
        """Return a text with its variables filled in; numbers and booleans are written as JSON."""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int | float):
            return str(value)
        if not isinstance(value, str):
            raise InputError(f"{place} is not text")
        return _VARIABLE.sub(self._variable, value)

    def _variable(self, found: re.Match[str]) -> str:
        words = found[1]
        if words in self._places:
            return str(self._places[words])
        if words == "pathSeparator" or words == "/":
            return os.sep
        kind, colon, name = words.partition(":")
        if colon and kind == "input":
            return self._input(name)
        name, default_mark, default = (name if colon and kind == "env" else words).partition(":-")
        if name in self._environ:
            return self._environ[name]
        if default_mark:
            return default
        raise InputError(f"it needs the variable {name}", remedy="set it in the environment")

    def _input(self, name: str) -> str:
        plain = re.sub(r"\W", "_", name).upper()
        for variable in (f"INPUT_{plain}", plain):
            if variable in self._environ:
                return self._environ[variable]
        raise InputError(f"it asks for the input {name!r}", remedy=f"set it as INPUT_{plain} in the environment")


_VARIABLE = re.compile(r"\$\{([^{}]+)\}")

# A string (matched so that its content is skipped), a comment, or a comma before a closing bracket.
_BEYOND_JSON = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*[\s\S]*?\*/|,(?=(?:\s|//[^\n]*|/\*[\s\S]*?\*/)*[}\]])')


def _read(path: Path) -> JsonObject:
    try:
        # Editors on Windows write a byte order mark.
        text = file_bytes(path, most=MAX_BYTES).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InputError(f"cannot be read: {reason}", file=path) from None
    # Keep a comment's line breaks, so that errors name the right line.
    plain = _BEYOND_JSON.sub(lambda found: found[1] or "\n" * found[0].count("\n"), text)
    document = parsed_json(plain, path)
    if not is_object(document):
        raise InputError("this is not an mcp.json", remedy="it is an object of servers", file=path)
    return document
