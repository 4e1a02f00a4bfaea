"""Lists come in small pages."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer, Request
from simtrain.files.json_schemas import properties_of
from simtrain.perturbations.catalogued import Catalogued
from simtrain.perturbations.reply_edits import at, content_of, main_list, put
from simtrain.values.seeding import Stream
from simtrain.values.types import JsonObject, JsonValue, Observation, ToolSpec

CURSOR: JsonObject = {"type": "string", "description": "Where to go on: next_cursor of the page before."}
NEXT_CURSOR: JsonObject = {"type": ["string", "null"]}


class ForcedPagination(Catalogued):
    """Tools that return complete lists return small pages, with a cursor to the next one.

    Source: ToolMaze, AgentDisruptBench. An agent should follow the cursor before it concludes. Tools that write, or
    have a cursor of their own, are unchanged.
    """

    traits: ClassVar[Traits] = Traits(side="reply", layer="P", recoverable_by=("page",), follows="always")
    example: ClassVar[JsonObject] = {"with": {"page_size": 1}}

    page_size: int | None = Field(default=None, ge=1, description="Entries of a page; unset, 10 to 1 by severity.")

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        """Return the tools, with a cursor argument for tools that return lists and have none."""
        return tuple(_paged(tool) if _returns_list(tool) else tool for tool in tools)

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Pass the call on and cut a page out of the list; errors, and replies without a list, are unchanged."""
        if not _is_paged(call.request.tool):
            return await proceed(call.request)
        cursor = call.request.arguments.get("cursor")
        start = 0 if cursor is None else _unsealed(cursor)
        if start is None:
            return self.refusal(call, "validation", "Invalid cursor.")
        observation = await proceed(_without_cursor(call.request))
        content = content_of(observation)
        place = main_list(content)
        if observation.is_error or place is None:
            return observation
        size = max(1, round(10 * (1 - self.severity))) if self.page_size is None else self.page_size
        items = at(content, place)
        if start == 0 and len(items) <= size:
            return observation
        page = put(content, place, items[start : start + size])
        if place == ():
            page = {"items": page}
        page["next_cursor"] = _sealed(start + size) if start + size < len(items) else None
        return self.rewritten(call, observation, page)

    async def follow(self, call: Call, proceed: Answer) -> Observation:
        """Return a further page of a list that was begun."""
        if call.request.arguments.get("cursor") is not None:
            return await self.apply(call, proceed)
        return await proceed(_without_cursor(call.request))


def _returns_list(tool: ToolSpec) -> bool:
    properties = properties_of(tool.input_schema)
    if tool.writes or any("cursor" in name or "page" in name or name == "offset" for name in properties):
        return False
    # Without a schema only the reply shows whether there is a list; one without it passes.
    if tool.output_schema is None:
        return True
    members = properties_of(tool.output_schema)
    return any(member.get("type") == "array" for member in members.values())


def _paged(tool: ToolSpec) -> ToolSpec:
    properties = properties_of(tool.input_schema)
    taken = {**tool.input_schema, "properties": {**properties, "cursor": CURSOR}}
    given = tool.output_schema
    if given is not None:
        members = properties_of(given)
        given = {**given, "properties": {**members, "next_cursor": NEXT_CURSOR}}
    return replace(tool, input_schema=taken, output_schema=given)


def _is_paged(tool: ToolSpec) -> bool:
    # By its schema, not its name: a cursor of the tool's own has to reach the tool.
    return properties_of(tool.input_schema).get("cursor") == CURSOR


def _without_cursor(request: Request) -> Request:
    if "cursor" not in request.arguments or not _is_paged(request.tool):
        return request
    return replace(request, arguments={name: value for name, value in request.arguments.items() if name != "cursor"})


def _sealed(start: int) -> str:
    # Opaque, like cursors of real services: a visible offset would invite agents to compute pages.
    return urlsafe_b64encode(f"after:{start}".encode()).decode().rstrip("=")


def _unsealed(cursor: JsonValue) -> int | None:
    """Return the offset in a cursor; None for a cursor that this perturbation did not make."""
    try:
        written = urlsafe_b64decode(f"{cursor}{'=' * (-len(str(cursor)) % 4)}").decode()
    except ValueError:
        return None
    # isdigit alone also admits superscripts and digits of other scripts, on which int raises or agrees by accident.
    word, _, number = written.partition(":")
    return int(number) if word == "after" and number.isascii() and number.isdigit() else None
