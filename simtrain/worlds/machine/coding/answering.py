"""The calls of a coding agent's tools, answered over a machine."""

from collections.abc import Callable

from simtrain.values.types import JsonObject, Observation
from simtrain.worlds.machine.coding import tools
from simtrain.worlds.machine.coding.editing import edit, write
from simtrain.worlds.machine.coding.reading import read
from simtrain.worlds.machine.coding.searching import glob, grep
from simtrain.worlds.machine.coding.workbench import ToolRefusal, Workbench, file_error, refused


def todo_write(bench: Workbench, arguments: JsonObject) -> Observation:
    """Take over a list of things to do."""
    bench.notes.todos = list(arguments["todos"])
    return Observation("Todos have been modified successfully.", structured={"todos": list(arguments["todos"])})


_TOOLS: dict[str, tuple[Callable[[Workbench, JsonObject], Observation], str]] = {
    tools.READ: (read, "read"),
    tools.EDIT: (edit, "open"),
    tools.WRITE: (write, "open"),
    tools.GLOB: (glob, "scandir"),
    tools.GREP: (grep, "open"),
    tools.TODO: (todo_write, "open"),
}
"""Each with the system call that an error of a file names."""


def answer(bench: Workbench, tool: str, arguments: JsonObject) -> Observation:
    """Carry out a call. A refused one changes nothing."""
    work, doing = _TOOLS[tool]
    try:
        return work(bench, arguments)
    except ToolRefusal as refusal:
        return refused(str(refusal))
    except OSError as error:
        return file_error(error, doing)
