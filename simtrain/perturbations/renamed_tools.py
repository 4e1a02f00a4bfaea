"""Tools and their arguments have other names."""

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Perturbation, Traits
from simtrain.contracts.request import Answer
from simtrain.contracts.tool_globs import matches
from simtrain.files.json_schemas import properties_of
from simtrain.values.errors import SimulatorFault
from simtrain.values.seeding import Stream
from simtrain.values.types import Observation, ToolSpec

VERBS = {
    "get": "fetch", "fetch": "retrieve", "read": "load", "show": "display", "list": "enumerate", "search": "lookup", "find": "locate",
    "query": "ask", "create": "add", "add": "append", "make": "produce", "place": "submit", "send": "dispatch", "update": "modify",
    "edit": "revise", "set": "assign", "move": "relocate", "delete": "remove", "remove": "drop", "cancel": "void", "close": "finish",
    "open": "start", "write": "store", "refund": "reimburse", "book": "reserve", "assign": "allocate", "upload": "put", "post": "publish",
    "check": "inspect", "describe": "explain", "archive": "shelve", "pay": "settle", "transfer": "remit", "schedule": "plan",
}  # fmt: skip
"""Word of a tool name -> its replacement."""

WORDS = {
    "id": "identifier", "name": "label", "query": "search_text", "limit": "max_results", "amount": "quantity", "text": "body",
    "path": "location", "title": "heading", "date": "day", "start": "begin", "end": "finish", "status": "state", "email": "mail_address",
    "message": "content", "content": "payload", "user": "account", "reason": "cause", "count": "number", "type": "category",
    "description": "summary", "from": "origin", "to": "destination", "city": "town", "url": "link", "key": "token",
}  # fmt: skip
"""Word of an argument name -> its replacement."""

_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


class RenamedTools(Perturbation):
    """Tools, and from a severity of 0.5 on their arguments, have other names; descriptions and behaviour stay the same.

    Source: RoTBench, RobustBench-TC. An agent should find the tools by their descriptions. It acts on the list of
    tools; its trigger is ignored, and triggers of other perturbations still use the world's names.
    """

    traits: ClassVar[Traits] = Traits(
        side="manifest",
        layer="P",
        recoverable_by=("switch", "fix-call"),
        conflicts={
            "argument_drift": "both call arguments otherwise, and its errors would name some that the renamed tools do not take"
        },
    )

    tools: str | list[str] = Field(default="*", description="Glob, or list of globs, over the tools that are renamed.")
    arguments: bool | None = Field(
        default=None, description="Rename arguments as well; unset, from a severity of 0.5 on."
    )

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools under their new names."""
        names = self._names(tools)
        return tuple(self._renamed(tool, names[tool.name]) if tool.name in names else tool for tool in tools)

    def _names(self, tools: tuple[ToolSpec, ...]) -> dict[str, str]:
        """Return old name -> new name."""
        globs = self.tools if isinstance(self.tools, str) else tuple(self.tools)
        return _new_names(tuple(tool.name for tool in tools), globs)

    def _renamed(self, tool: ToolSpec, name: str) -> ToolSpec:
        words = self._words(tool)
        properties = properties_of(tool.input_schema)
        if not words:
            return replace(tool, name=name)
        schema = {**tool.input_schema, "properties": {words.get(old, old): part for old, part in properties.items()}}
        if "required" in schema:
            schema["required"] = [words.get(old, old) for old in schema["required"]]
        return replace(tool, name=name, input_schema=schema)

    def _words(self, tool: ToolSpec) -> dict[str, str]:
        """Return old name of an argument -> new name."""
        if not (self.severity >= 0.5 if self.arguments is None else self.arguments):
            return {}
        return _distinct(properties_of(tool.input_schema), WORDS)

    async def serve(self, call: Call, proceed: Answer) -> Observation:
        """Pass the call on under the tool's own name."""
        new = call.request.tool.name
        names = self._names(call.given)
        tool = next((tool for tool in call.given if names.get(tool.name) == new), None)
        if tool is None:
            raise SimulatorFault(f"renamed_tools knows no tool that is now called {new}")
        back = {renamed: old for old, renamed in self._words(tool).items()}
        arguments = {back.get(name, name): value for name, value in call.request.arguments.items()}
        return await proceed(replace(call.request, tool=tool, arguments=arguments))


@lru_cache(maxsize=256)
def _new_names(names: tuple[str, ...], globs: str | tuple[str, ...]) -> dict[str, str]:
    """Return old name -> new name for renamed tools. The part before the first dot is the server and stays."""
    found: dict[str, str] = {}
    for name in names:
        if not matches(name, globs):
            continue
        # The server stays, since globs and standby tools go by it.
        server, dot, plain = name.partition(".") if "." in name else ("", "", name)
        renamed = _reworded(plain, VERBS)
        new = f"{server}{dot}{renamed if renamed != plain else f'{plain}_v2'}"
        # A new name may be the name of another tool (open -> start); two tools of one name are refused.
        while new in names or new in found.values():
            new = f"{new}_v2"
        found[name] = new
    return found


def _distinct(names: Iterable[str], words: dict[str, str]) -> dict[str, str]:
    """Return old name -> new name, for names with a known word whose new name is free."""
    taken = set(names)
    found: dict[str, str] = {}
    for name in names:
        new = _reworded(name, words)
        # Two arguments must not get one name, nor an argument the name of its neighbour.
        if new not in taken:
            taken.add(new)
            found[name] = new
    return found


def _reworded(name: str, words: dict[str, str]) -> str:
    """Return a name with its first known word replaced, keeping its case: `getUser` becomes `fetchUser`."""
    for part in _PART.finditer(name):
        other = words.get(part[0].lower())
        if other is not None:
            cased = other.upper() if part[0].isupper() and len(part[0]) > 1 else other
            cased = cased.capitalize() if part[0].istitle() else cased
            return f"{name[: part.start()]}{cased}{name[part.end() :]}"
    return name
