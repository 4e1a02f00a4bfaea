"""The calls of a coding agent's tools, answered over a machine."""

from collections.abc import Callable

from simtrain.values.types import JsonObject, Observation
from simtrain.worlds.machine.coding import tools
from simtrain.worlds.machine.coding.desk import CodingDesk, CodingRefusal, file_error, refused
from simtrain.worlds.machine.coding.editing import edit, write
from simtrain.worlds.machine.coding.reading import read
from simtrain.worlds.machine.coding.searching import glob, grep


def todo_write(desk: CodingDesk, arguments: JsonObject) -> Observation:
    """Take over a list of things to do."""
    desk.notes.todos = list(arguments["todos"])
    return Observation("Todos have been modified successfully.", structured={"todos": list(arguments["todos"])})


_TOOLS: dict[str, tuple[Callable[[CodingDesk, JsonObject], Observation], str]] = {
    tools.READ: (read, "read"),
    tools.EDIT: (edit, "open"),
    tools.WRITE: (write, "open"),
    tools.GLOB: (glob, "scandir"),
    tools.GREP: (grep, "open"),
    tools.TODO: (todo_write, "open"),
}
"""Each with the system call that an error of a file names."""


def answer(desk: CodingDesk, tool: str, arguments: JsonObject) -> Observation:
    """Carry out a call. A refused one changes nothing."""
    work, doing = _TOOLS[tool]
    try:
        return work(desk, arguments)
    except CodingRefusal as refusal:
        return refused(str(refusal))
    except OSError as error:
        return file_error(error, doing)
