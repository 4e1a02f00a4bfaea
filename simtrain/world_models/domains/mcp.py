"""The MCP domain: how calls of MCP tools and their results are written for a language world model."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar

import orjson

from simtrain.contracts.domain import Domain
from simtrain.contracts.request import Request
from simtrain.files.json_schemas import validator
from simtrain.values.types import JsonObject, Observation, ToolSpec, canonical, encode, is_object
from simtrain.world_models.domains.predictions import HEADER, read_prediction

ERROR = "Error: "

_TASK = f"""\
You are the environment of an agent that works with tools. The tools belong to MCP servers, and you answer in their place: for
each call you write exactly what the real server would return, and nothing else.

How to answer:
- Begin with the line {HEADER} and put the result below it. No thinking, no comment, no code fence.
- A tool with a result schema returns one JSON object that fits it. Any other tool returns text as a real server would.
- A call that the server cannot carry out returns one line that begins with "{ERROR.strip()}" and says why: an id that does not
  exist, a rule that forbids it, an argument that makes no sense.
- Keep to the state. What an earlier reply said stays true until a call changes it; a call that writes changes what later
  calls return; a call that only reads changes nothing. Never mention that the environment is simulated.
- Invent records only where the state below leaves room for them, and then keep them."""

_FENCE = re.compile(r"\A```(?:json)?\s*\n(.*?)\n?```\Z", re.DOTALL)


class McpDomain(Domain):
    """Tools of MCP servers: structured calls, text or structured results."""

    task: ClassVar[str] = _TASK

    def system_prompt(
        self,
        tools: Sequence[ToolSpec],
        *,
        initial_state: str = "",
        hidden_state: str = "",
        demonstrations: Sequence[tuple[str, str]] = (),
        instruction: str = "",
    ) -> str:
        """Return the system prompt, without empty parts."""
        shown = "\n\n".join(
            f"## Example {number}\n{call}\n\n{reply}" for number, (call, reply) in enumerate(demonstrations, 1)
        )
        parts = {
            "Task": self.task_with(tools),
            "Tools": "\n\n".join(_describe(tool) for tool in tools),
            "Initial state": initial_state.strip(),
            "Hidden state": hidden_state.strip()
            and f"The agent cannot see this, and it holds all the same.\n{hidden_state.strip()}",
            "Examples": shown,
            "Instruction": instruction.strip() and f"Carry this out as the episode goes on.\n{instruction.strip()}",
        }
        return "\n\n".join(f"# {title}\n{body}" for title, body in parts.items() if body)

    def task_with(self, tools: Sequence[ToolSpec]) -> str:
        """Return the task of a world model that answers calls of these tools."""
        return self.task

    def write_action(self, request: Request, *, turn: int) -> str:
        """Return the call as a fenced JSON block under a heading with the turn's number."""
        call = encode({"name": request.tool.name, "arguments": request.arguments})
        return f"### Turn {turn}\n\n**Action:**\n```json\n{call}\n```"

    def write_observation(self, observation: Observation) -> str:
        """Return the result under its header; an error begins with its mark."""
        return f"{HEADER}\n{ERROR if observation.is_error else ''}{observation.text}"

    def parse(self, text: str, request: Request) -> Observation:
        """Return the observation in a prediction.

        Raises ValueError with the reason for anything that `read_prediction` refuses, for an echo of the call, and for a result that
        does not fit the tool's output schema.
        """
        written = read_prediction(text)
        # Models often add a fence, whatever the prompt says, and its content is still usable.
        fenced = _FENCE.match(written)
        if fenced:
            written = fenced[1].strip()
        _refuse_echo(written, request)
        if written.startswith(ERROR.strip()):
            reason = written.removeprefix(ERROR.strip()).strip()
            if not reason:
                raise ValueError("the error says nothing")
            return Observation(reason, is_error=True)
        if request.tool.output_schema is None:
            return Observation(written)
        return _structured(written, request.tool.output_schema)


def _describe(tool: ToolSpec) -> str:
    lines = [f"## {tool.name}", tool.description, f"Arguments: {encode(tool.input_schema)}"]
    if tool.output_schema is not None:
        lines.append(f"Result: {encode(tool.output_schema)}")
    lines.append("Writes: it may change the state." if tool.writes else "Reads: it changes nothing.")
    return "\n".join(line for line in lines if line)


def _refuse_echo(written: str, request: Request) -> None:
    try:
        value: object = orjson.loads(written)
    except orjson.JSONDecodeError:
        return
    # A common slip: a JSON object that looks like a result.
    if value == {"name": request.tool.name, "arguments": request.arguments}:
        raise ValueError("it repeats the call")


def _structured(written: str, schema: JsonObject) -> Observation:
    try:
        value: object = orjson.loads(written)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"the tool returns a JSON object and this is not one: {error}") from None
    if not is_object(value):
        raise ValueError("the tool returns a JSON object and this is another value")
    problem = next(iter(_validator(canonical(schema)).iter_errors(value)), None)
    if problem is not None:
        path = ".".join(str(part) for part in problem.instance_path)
        raise ValueError(f"it does not fit the result schema: {f'{path}: ' if path else ''}{problem.message}")
    try:
        return Observation(encode(value), json=True)
    # Parsing allows deeper nesting than writing.
    except orjson.JSONEncodeError:
        raise ValueError("it is nested too deeply") from None


@lru_cache(maxsize=1024)
def _validator(schema: bytes) -> Any:
    return validator(orjson.loads(schema))
