"""The tools that an episode offers, with compiled checks of their arguments; shared by all episodes that offer the same."""

from __future__ import annotations

from simtrain.argument_style import Checked
from simtrain.registry import resolve
from simtrain.types import JsonObject, ToolSpec


class Toolbox:
    """Tools by name, and whether arguments fit them."""

    __slots__ = ("_checks", "by_name", "style", "tools")

    def __init__(self, tools: tuple[ToolSpec, ...], *, style: str = "plain") -> None:
        """`style` names an argument style. Raises InputError when there is none, ValueError for a schema that is none."""
        self.tools = tools
        self.style = style
        self.by_name = {tool.name: tool for tool in tools}
        compile_check = resolve("argument_styles", style)
        self._checks = {tool.name: compile_check(tool.name, tool.input_schema) for tool in tools}

    def check(self, tool: str, arguments: JsonObject) -> Checked:
        """The arguments as the tool sees them, or what is wrong with them."""
        return self._checks[tool](arguments)
