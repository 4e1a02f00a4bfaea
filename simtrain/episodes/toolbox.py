"""The tools that an episode offers, with compiled argument checks. Episodes that offer the same tools share one."""

from collections.abc import Callable, Sequence

from simtrain.contracts.argument_style import Check, CheckedArguments
from simtrain.contracts.registry import resolve
from simtrain.values.types import JsonObject, JsonValue, ToolSpec


def _plain(tool: str) -> str:
    return "plain"


def as_read(tools: Sequence[ToolSpec]) -> list[JsonValue]:
    """Return the parts of tools that an agent reads; their output schemas are not among them."""
    return [[tool.name, tool.description, tool.input_schema] for tool in tools]


class Toolbox:
    """Tools by name, and checks of their arguments."""

    __slots__ = ("by_name", "checks", "style", "tools")

    def __init__(self, tools: tuple[ToolSpec, ...], *, style: Callable[[str], str] = _plain) -> None:
        """`style` returns the name of a tool's argument style. Raises InputError for an unknown one, ValueError for an invalid schema."""
        self.tools = tools
        self.style = style
        self.by_name = {tool.name: tool for tool in tools}
        self.checks: dict[str, Check] = {
            tool.name: resolve("argument_styles", style(tool.name))(tool.name, tool.input_schema) for tool in tools
        }

    def check(self, tool: str, arguments: JsonObject) -> CheckedArguments:
        """Return the arguments as the tool sees them, or the problem with them."""
        return self.checks[tool](arguments)
