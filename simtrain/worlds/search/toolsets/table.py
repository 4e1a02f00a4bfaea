"""The toolsets by name, and the tools that a view chooses from them, renamed as it says."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from simtrain.contracts.handler import Reply
from simtrain.files.templates import Text
from simtrain.values.errors import InputError, nearest
from simtrain.values.types import JsonObject, JsonValue, encode, is_list, is_object
from simtrain.worlds.search.spec.view import ToolRename, ToolsetUse
from simtrain.worlds.search.toolsets.brave import BRAVE
from simtrain.worlds.search.toolsets.mcp import MCP
from simtrain.worlds.search.toolsets.serper import SERPER
from simtrain.worlds.search.toolsets.tavily import TAVILY
from simtrain.worlds.search.toolsets.tool import Engine, SearchTool
from simtrain.worlds.search.toolsets.web import MEMORY, WEB
from simtrain.worlds.search.toolsets.widesearch import WIDESEARCH

TOOLSETS: dict[str, tuple[SearchTool, ...]] = {
    "web": WEB,
    "memory": MEMORY,
    "widesearch": WIDESEARCH,
    "serper": SERPER,
    "tavily": TAVILY,
    "brave": BRAVE,
    "mcp": MCP,
}


def tools_of(uses: Sequence[ToolsetUse]) -> tuple[SearchTool, ...]:
    """Return the tools of a view, in order. Raises InputError for an unknown toolset, tool or argument, and for a
    duplicate name.
    """
    found: list[SearchTool] = []
    for index, use in enumerate(uses):
        place = f"tools[{index}]"
        if use.use not in TOOLSETS:
            raise InputError(f"unknown toolset {use.use!r}", remedy=nearest(use.use, TOOLSETS), place=place)
        known = {tool.name for tool in TOOLSETS[use.use]}
        for name in use.rename:
            if name not in known:
                problem = f"the toolset {use.use!r} has no tool {name!r}"
                raise InputError(problem, remedy=nearest(name, known), place=f"{place}.rename")
        for tool in TOOLSETS[use.use]:
            rename = use.rename.get(tool.name)
            found.append(tool if rename is None else _renamed(tool, rename, f"{place}.rename.{tool.name}"))
    names = [tool.name for tool in found]
    for name in names:
        # MCP addresses a tool by its name alone.
        if names.count(name) > 1:
            raise InputError(
                f"two tools are called {name!r}", remedy="give one another name with `rename`", place="tools"
            )
    return tuple(found)


def _renamed(tool: SearchTool, rename: ToolRename, place: str) -> SearchTool:
    properties = tool.input_schema["properties"]
    for argument in rename.arguments:
        if argument not in properties:
            problem = f"{tool.name} has no argument {argument!r}"
            raise InputError(problem, remedy=nearest(argument, properties), place=f"{place}.arguments")
    given = dict(rename.arguments)
    if len({given.get(name, name) for name in properties}) < len(properties):
        raise InputError("two arguments have the same name", place=f"{place}.arguments")
    schema: JsonObject = {
        **tool.input_schema,
        "properties": {given.get(name, name): value for name, value in properties.items()},
        "required": [given.get(name, name) for name in tool.input_schema["required"]],
    }
    own = {new: name for name, new in given.items()}
    try:
        text = Text(rename.text) if rename.text is not None else None
    except InputError as error:
        raise error.at(place=f"{place}.text") from None

    def tell(content: JsonObject) -> str:
        if text is not None:
            return text.render(content)
        # The tool's own writer reads its own field names.
        back = {new: name for name, new in rename.results.items()}
        own_tell = tool.tell or encode
        return own_tell(_with_names(content, back))

    def changes(arguments: JsonObject) -> bool:
        return tool.changes is not None and tool.changes(_own(arguments, own))

    def act(engine: Engine, arguments: JsonObject) -> Reply:
        reply = tool.act(engine, _own(arguments, own))
        if reply.is_error or reply.structured is None:
            return reply
        content = _with_names(reply.structured, rename.results)
        return replace(reply, text=text.render(content) if text else reply.text, structured=content)

    output = tool.output_schema
    return replace(
        tool,
        name=rename.name or tool.name,
        description=rename.description or tool.description,
        input_schema=schema,
        act=act,
        tell=tell,
        changes=changes,
        output_schema=None if output is None else _with_names(output, rename.results),
    )


def _own(arguments: JsonObject, names: Mapping[str, str]) -> JsonObject:
    """Return the arguments under the tool's own names."""
    return {names.get(name, name): value for name, value in arguments.items()}


def _with_names(value: JsonValue, names: Mapping[str, str]) -> JsonValue:
    """Return the value with the fields of its objects renamed, and the names in a schema's `required` with them."""
    if not names:
        return value
    if is_list(value):
        return [_with_names(item, names) for item in value]
    if not is_object(value):
        return value
    return {
        names.get(name, name): [names.get(item, item) for item in item_names]
        if (item_names := _required(name, item))
        else _with_names(item, names)
        for name, item in value.items()
    }


def _required(name: str, value: JsonValue) -> list[str]:
    if name != "required" or not is_list(value) or not all(isinstance(item, str) for item in value):
        return []
    return value
