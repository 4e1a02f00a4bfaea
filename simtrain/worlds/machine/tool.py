"""The tool `bash`: its descriptor, and how what a script left is shown to an agent."""

from simtrain.values.types import JsonObject, Observation, ToolSpec, arguments_of, object_schema
from simtrain.worlds.machine.engine import Finished

NAME = "bash"
LONGEST = 3600.0
"""Most seconds that a call may ask for."""

_DESCRIPTION = (
    "Run a command line in a bash shell on {host} as {user}. The shell stays open: directory, variables and functions last from "
    "one call to the next. Returns what the command printed, and its exit code if that is not 0."
)


def bash_tool(host: str, user: str, timeout: float) -> ToolSpec:
    """Return the descriptor of the tool."""
    return ToolSpec(
        NAME,
        _DESCRIPTION.format(host=host, user=user),
        arguments_of(
            ("command",),
            command={"type": "string", "description": "The command line, or several lines."},
            timeout={
                "type": "number",
                "exclusiveMinimum": 0,
                "maximum": LONGEST,
                "description": f"Seconds after which the command is stopped; {timeout:g} by default.",
            },
        ),
        object_schema(
            ("stdout", "stderr", "exit_code"),
            stdout={"type": "string"},
            stderr={"type": "string"},
            exit_code={"type": "integer"},
            prompt={"type": "string", "description": "The prompt that the command was typed at."},
        ),
        writes=True,
    )


def shown(finished: Finished, prompt: str, *, limit: float, most: int) -> Observation:
    """Return what an agent is shown: both streams as on a terminal, and the exit code if it is not 0."""
    code = finished.exit_code
    note = f"[exit code {code}]" if code else ""
    if finished.ending == "timeout":
        note = f"[stopped after {limit:g} s]"
    # As on a terminal, where the prompt comes on the next line.
    text = cut(finished.screen, most).removesuffix("\n")
    if note:
        text = f"{text}\n{note}" if text else note
    content: JsonObject = {
        "stdout": cut(finished.stdout, most), "stderr": cut(finished.stderr, most), "exit_code": code, "prompt": prompt,
    }  # fmt: skip
    return Observation(text, structured=content)


def cut(text: str, most: int) -> str:
    """Return a text without its middle if it has more characters than allowed."""
    if len(text) <= most:
        return text
    head = most * 2 // 3
    tail = most - head
    return f"{text[:head]}\n[... {len(text) - most} characters left out ...]\n{text[-tail:]}"
