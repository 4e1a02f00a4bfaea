"""The terminal domain: how command lines and what they print are written for a language world model."""

import re
from collections.abc import Sequence
from typing import ClassVar

from simtrain.contracts.drawing import Drawing, TextDrawing
from simtrain.contracts.request import Request
from simtrain.values.types import Action, Observation, ToolSpec, encode
from simtrain.world_models.domains import keystrokes
from simtrain.world_models.domains.mcp import McpDomain
from simtrain.world_models.domains.predictions import HEADER, read_prediction

_TASK = f"""\
You are a Linux machine as an agent meets it through a shell. The agent types a command line, and you write what the terminal
shows until the prompt comes back, and nothing else.

How to answer:
- Begin with the line {HEADER} and put the terminal's text below it: what the command writes to stdout and stderr, in the order in
  which it is written. No prompt, no repeated command, no comment, no code fence.
- A command that prints nothing gets an empty text. An exit code other than 0 is told in a last line of its own: [exit code 1].
- The machine remembers. The directory, variables and functions of the shell last from one command to the next; files, users,
  processes, packages and services stay as the last command left them. What a command printed once it prints again, unless
  something has changed it since: sizes, line counts, dates and process numbers agree with each other.
- Every program behaves as the real one, with its options, its columns and its own error texts: `cat: x: No such file or directory`.
  What is not installed is `command not found`; what the user may not do is `Permission denied`.
- Commands change what they would change, no more: `sed` without -i leaves its file alone, a failed command leaves no half of its
  work unless the real one would.
- Time moves on a little with each command, and `sleep` takes as long as it says.
Never mention that the machine is simulated."""

_ENDING = re.compile(r"\n?\[exit code (\d+)\]\s*\Z")
_PROMPT = re.compile(r"\A[\w.-]+@[\w.-]+:\S*[$#] (?P<command>.*)\n?")
MOST_CODE = 255


class TerminalDomain(McpDomain):
    """A shell on a machine: command lines in, the text of a terminal out; or keystrokes in, a screen out."""

    task: ClassVar[str] = _TASK

    def task_with(self, tools: Sequence[ToolSpec]) -> str:
        """Return the task: of a shell, or of a terminal if the agent types keys."""
        return keystrokes.TASK if keystrokes.offered(tools) else self.task

    def write_action(self, request: Request, *, turn: int) -> str:
        """Return a command line in a fenced block under a heading with the turn's number; a call of another tool as the MCP domain does."""
        entries = keystrokes.entries_of(request.arguments)
        if entries is not None:
            return keystrokes.write_action(entries, turn=turn)
        command = request.arguments.get("command")
        if not isinstance(command, str):
            return super().write_action(request, turn=turn)
        further = {name: value for name, value in request.arguments.items() if name != "command"}
        options = f" {encode(further)}" if further else ""
        return f"### Turn {turn}\n\n**Action:**{options}\n```bash\n{command}\n```"

    def write_observation(self, observation: Observation) -> str:
        """Return the terminal's text under its header."""
        return f"{HEADER}\n{observation.text}"

    def parse(self, text: str, request: Request) -> Observation:
        """Return the observation in a prediction: its text, and its exit code in the structured content.

        Raises ValueError with the reason for thinking or markers that leaked, for an echo of the command under a prompt, and for
        an impossible exit code. A call of another tool is parsed as the MCP domain does.
        """
        if keystrokes.entries_of(request.arguments) is not None:
            return keystrokes.parse(text, request)
        command = request.arguments.get("command")
        if not isinstance(command, str):
            return super().parse(text, request)
        shown = read_prediction(text, may_be_empty=True)
        prompted = _PROMPT.match(shown)
        if prompted and prompted["command"].strip() == command.strip().partition("\n")[0]:
            raise ValueError("it repeats the prompt and the command")
        if shown.strip() == command.strip() and not command.strip().startswith(("echo", "printf")):
            raise ValueError("it repeats the command")
        ending = _ENDING.search(shown)
        code = int(ending[1]) if ending else 0
        if code > MOST_CODE:
            raise ValueError(f"{code} is no exit code")
        printed = shown[: ending.start()] if ending else shown
        return Observation(shown, structured={"stdout": printed, "stderr": "", "exit_code": code})

    def draw(self, action: Action, observation: Observation) -> Drawing:
        """Return the screen: the prompt with the command, and what it printed."""
        if keystrokes.entries_of(action.arguments) is not None:
            return keystrokes.draw(observation)
        command = action.arguments.get("command")
        if not isinstance(command, str):
            return super().draw(action, observation)
        prompt = str((observation.content or {}).get("prompt") or "$ ")
        # Further lines of a command are typed at the second prompt.
        typed = "\n".join(f"{'> ' if number else prompt}{line}" for number, line in enumerate(command.split("\n")))
        return [TextDrawing(f"{typed}\n{observation.text}".rstrip("\n"))]
