"""The SWE domain: how the calls of a coding agent, and what they return, are written for a language world model.

Action spaces of this domain differ from episode to episode, as in Qwen-AgentWorld: the tools are part of the prompt.
"""

from collections.abc import Sequence
from typing import ClassVar

from simtrain.contracts.drawing import DiffDrawing, Drawing, TableDrawing, TextDrawing
from simtrain.contracts.request import Request
from simtrain.values.types import Action, JsonObject, Observation, ToolSpec, encode, is_list, is_object
from simtrain.world_models.domains.mcp import ERROR, McpDomain
from simtrain.world_models.domains.predictions import HEADER, read_prediction
from simtrain.world_models.domains.terminal import TerminalDomain

_TASK = f"""\
You are the machine on which a coding agent works on a repository, as the agent meets it through the tools below. For each call you
write exactly what the tool returns, and nothing else.

How to answer:
- Begin with the line {HEADER} and put the result below it. No thinking, no comment, no code fence.
- A command line gets what a terminal shows, both streams in the order of writing. An exit code other than 0 is told in a last line
  of its own: [exit code 1].
- A file that is read comes with the number of each line, a tab, and the line. What is in a file comes from the state below, from what
  was read before, and from what the agent has written since; nothing else changes a file.
- An edit replaces a text that stands in the file exactly as given. One that is not there, or that is there more than once, is refused,
  and the file stays as it is. A file that was not read is not overwritten.
- Programs and tests do what the code says. Work out what each line does with the values it gets: an assertion fails with the values
  that it compares, an exception comes with the traceback through the files and lines that it passes, and a test that passed keeps
  passing unless the code under it has changed.
- What cannot be carried out returns one line that begins with "{ERROR.strip()}" and says why.
- The machine remembers. Directory, files, installed packages, branches and commits stay as the last call left them.
Never mention that the machine is simulated."""

_STATUS = {"completed": "[x]", "in_progress": "[>]", "pending": "[ ]"}


class SweDomain(TerminalDomain):
    """A repository on a machine, and the tools of a coding agent: read, edit, write, glob, grep, bash, todo_write."""

    task: ClassVar[str] = _TASK

    def task_with(self, tools: Sequence[ToolSpec]) -> str:
        """Return the task: of a repository, or of a terminal if the agent types keys."""
        found = super().task_with(tools)
        return found if found != TerminalDomain.task else self.task

    def write_observation(self, observation: Observation) -> str:
        """Return the text under its header; an error begins with its mark."""
        return McpDomain.write_observation(self, observation)

    def parse(self, text: str, request: Request) -> Observation:
        """Return the observation in a prediction: of a command line as the terminal domain does it, of another tool its text.

        Raises ValueError with the reason for what `read_prediction` refuses, and for an echo of the call.
        """
        if "command" in request.arguments or "commands" in request.arguments:
            return super().parse(text, request)
        shown = read_prediction(text)
        if shown.strip() in (
            encode(request.arguments),
            encode({"name": request.tool.name, "arguments": request.arguments}),
        ):
            raise ValueError("it repeats the call")
        if shown.startswith(ERROR):
            return Observation(shown.removeprefix(ERROR).strip(), is_error=True)
        return Observation(shown)

    def draw(self, action: Action, observation: Observation) -> Drawing:
        """Return an edit as a diff, a list of things to do as a table, a command as on a terminal, all else as its text."""
        content = observation.content or {}
        if isinstance(content.get("diff"), str):
            return [DiffDrawing(content["diff"])]
        if is_list(content.get("todos")):
            return [_todos(content)]
        if isinstance(action.arguments.get("command"), str) or "screen" in content:
            return super().draw(action, observation)
        return [TextDrawing(observation.text)]


def _todos(content: JsonObject) -> TableDrawing:
    rows = [
        [_STATUS.get(str(todo.get("status")), ""), str(todo.get("content", ""))]
        for todo in content["todos"]
        if is_object(todo)
    ]
    return TableDrawing("To do", ["", "step"], rows)
