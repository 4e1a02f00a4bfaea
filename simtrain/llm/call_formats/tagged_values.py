"""Calls whose arguments are written between tags, unquoted: Qwen 3.5 and Nemotron, GLM 4.5."""

from collections.abc import Callable
from dataclasses import dataclass

from simtrain.llm.call_formats.reading import Schemas, TaggedCalls, argument_schema, made_call, malformed, skip, typed
from simtrain.llm.completion import ToolCall
from simtrain.values.types import JsonObject, JsonValue


@dataclass(frozen=True, slots=True)
class ValueTags:
    """The tags of one argument: `first` NAME `second` VALUE `third`; `last` follows all arguments.

    White space is allowed between the parts of `second`. With `lines` a value is on lines of its own.
    """

    first: str
    second: tuple[str, ...]
    third: str
    last: str
    lines: bool = False

    def read(self, text: str, at: int, schema: Callable[[str], JsonObject]) -> tuple[JsonObject, int]:
        """Return the arguments at a position, and their end. Raises ValueError."""
        arguments: dict[str, JsonValue] = {}
        while not text.startswith(self.last, at := skip(text, at)):
            if not text.startswith(self.first, at):
                raise ValueError("no argument")
            name, at = self._name(text, at + len(self.first))
            end, after = self._end(text, at)
            value = text[at:end]
            if self.lines:
                # One line break on each side is the template's; any others belong to the value.
                value = value.removeprefix("\n").removesuffix("\n")
            arguments[name] = typed(value, schema(name))
            at = after
        return arguments, at + len(self.last)

    def _name(self, text: str, at: int) -> tuple[str, int]:
        end = text.find(self.second[0], at)
        after = end + len(self.second[0])
        for part in self.second[1:]:
            after = skip(text, after)
            if not text.startswith(part, after):
                raise ValueError("no value")
            after += len(part)
        if end < 0:
            raise ValueError("no name")
        return text[at:end], after

    def _end(self, text: str, at: int) -> tuple[int, int]:
        """Return the end of a value and the start of what follows. A value may contain its closing tag, so the next tag decides."""
        end = text.find(self.third, at)
        while end >= 0:
            after = skip(text, end + len(self.third))
            if text.startswith((self.first, self.last), after):
                return end, after
            end = text.find(self.third, end + 1)
        raise ValueError("no end")


@dataclass(frozen=True)
class TaggedValues(TaggedCalls):
    """`opening` NAME `named` ARGUMENTS `closing`."""

    start: str
    named: str
    stop: str
    tags: ValueTags

    opening = "<tool_call>"
    closing = "</tool_call>"

    def call(self, text: str, at: int, schemas: Schemas, index: int) -> tuple[ToolCall, int]:
        """Return the call whose name is at a position, and its end. Raises ValueError."""
        at = skip(text, at)
        name = self._named(text, at)
        if not name:
            raise ValueError("no name")
        at = at + len(self.start) + len(name) + len(self.named)
        arguments, at = self.tags.read(text, at, lambda argument: argument_schema(schemas, name, argument))
        at = skip(text, at)
        if not text.startswith(self.stop, at):
            raise ValueError("no end")
        return made_call(name, arguments, index), at + len(self.stop)

    def unread(self, text: str, at: int, stop: int, index: int) -> ToolCall:
        return malformed(text[at:stop].strip(), index, self._named(text, skip(text, at)))

    def _named(self, text: str, at: int) -> str | None:
        if not text.startswith(self.start, at):
            return None
        end = text.find(self.named, at)
        name = text[at + len(self.start) : end] if end >= 0 else ""
        # A tag or a line break means that the name ended earlier, and this text is no call.
        return name if name and "<" not in name and "\n" not in name else None


QWEN = TaggedValues(
    start="<function=",
    named=">",
    stop="</tool_call>",
    tags=ValueTags("<parameter=", (">",), "</parameter>", "</function>", lines=True),
)

GLM = TaggedValues(
    start="",
    named="\n",
    stop="",
    tags=ValueTags("<arg_key>", ("</arg_key>", "<arg_value>"), "</arg_value>", "</tool_call>"),
)
