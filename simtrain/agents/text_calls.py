"""Tool calls written as fenced JSON blocks, for servers and models without native ones.

The protocol: the system prompt lists the tools; a call is a block fenced with ```tool_call that holds one JSON object,
`{"name": ..., "arguments": {...}}`; the replies come back in one user message, in the order of the calls.
"""

import re
from collections.abc import Sequence

from simtrain.contracts.trajectory import Step
from simtrain.llm.call_formats.reading import call_of, json_of, malformed
from simtrain.llm.completion import Completion, ToolCall
from simtrain.values.types import WHOLE_CALL, Action, JsonObject, ToolSpec, encode

# A block that is never closed (a truncated reply, a stop word) is still a call, most likely a malformed one.
_BLOCK = re.compile(r"^[ \t]*```tool_call[ \t]*\r?\n(.*?)(?:^[ \t]*```[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)

_HOW = """\
To call a tool, write a block like this one, with the tool's name and its arguments:

```tool_call
{"name": "NAME", "arguments": {}}
```

Write one block for each call; several calls in one message are carried out in order. Then end the message and wait: the
results come in the next message. These are the tools, each with the JSON Schema of its arguments:
"""


class TextCalls:
    """Tools described in the system prompt, calls read from the text."""

    __slots__ = ("_tools", "tools")

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self._tools = tools
        self.tools = None

    def system(self, system: str) -> str:
        """Return the system prompt followed by the protocol and the tools."""
        if not self._tools:
            return system
        listed = "\n\n".join(f"## {tool.name}\n{tool.description}\n{encode(tool.input_schema)}" for tool in self._tools)
        return f"{system}\n\n# Tools\n{_HOW}\n{listed}".strip()

    def read(self, completion: Completion) -> tuple[str, tuple[ToolCall, ...]]:
        """Return the text outside the blocks, and the calls inside. A malformed block keeps its text as arguments."""
        blocks = _BLOCK.findall(completion.text)
        words = _BLOCK.sub("", completion.text).strip()
        return words, tuple(_call(block.strip(), index) for index, block in enumerate(blocks))

    def write(self, text: str, steps: Sequence[Step]) -> list[JsonObject]:
        """Return one turn for the history: the message with its blocks, and the results in one user message."""
        if not steps:
            return [{"role": "assistant", "content": text}]
        blocks = [f"```tool_call\n{_block(step.action)}\n```" for step in steps]
        results = [
            f"# Result {number} ({step.action.tool})\n{step.observation.text}" for number, step in enumerate(steps, 1)
        ]
        return [
            {"role": "assistant", "content": "\n\n".join(part for part in (text, *blocks) if part)},
            {"role": "user", "content": "\n\n".join(results)},
        ]


def _call(block: str, index: int) -> ToolCall:
    try:
        return call_of(json_of(block), block, index)
    except ValueError:
        return malformed(block, index)


def _block(action: Action) -> str:
    if action.malformed is not None:
        return action.malformed.removeprefix(WHOLE_CALL)
    return encode({"name": action.tool, "arguments": action.arguments})
