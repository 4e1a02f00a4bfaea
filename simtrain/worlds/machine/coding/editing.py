"""The tools `edit` and `write`: exact replacement in a file, and whole files. What the agent has not read is not overwritten."""

from difflib import unified_diff
from posixpath import dirname

from simtrain.values.types import JsonObject, Observation
from simtrain.worlds.machine.coding.reading import numbered, split, text_at
from simtrain.worlds.machine.coding.workbench import ToolRefusal, Workbench

_AROUND = 4
"""Lines that are shown before and after an edit."""


def edit(bench: Workbench, arguments: JsonObject) -> Observation:
    """Replace a text. Raises ToolRefusal unless it stands in the file exactly once, or at all with `replace_all`; OSError."""
    path = bench.path(str(arguments["file_path"]))
    old, new = str(arguments["old_string"]), str(arguments["new_string"])
    if old == new:
        raise ToolRefusal("No changes to make: old_string and new_string are exactly the same.")
    if not old:
        return _made(bench, path, new)
    text, content = text_at(bench, path)
    bench.require_known(path, content)
    count = text.count(old)
    if count == 0:
        raise ToolRefusal(f"String to replace not found in file.\nString: {old}")
    if count > 1 and not arguments.get("replace_all"):
        raise ToolRefusal(
            f"Found {count} matches of the string to replace, but replace_all is false. To replace all occurrences, set replace_all "
            "to true. To replace only one occurrence, please provide more context to uniquely identify the instance.\n"
            f"String: {old}"
        )
    after = text.replace(old, new)
    _put(bench, path, after)
    changed: JsonObject = {"file_path": path, "replacements": count, "diff": diff(path, text, after)}
    if count > 1:
        return Observation(
            f"The file {path} has been updated. All {count} occurrences were successfully replaced.", structured=changed
        )
    first = text[: text.index(old)].count("\n")
    snippet = split(after)[max(0, first - _AROUND) : first + new.count("\n") + 1 + _AROUND]
    said = f"The file {path} has been updated. Here's the result of running `cat -n` on a snippet of the edited file:"
    return Observation(f"{said}\n{numbered(snippet, max(0, first - _AROUND) + 1)}", structured=changed)


def write(bench: Workbench, arguments: JsonObject) -> Observation:
    """Write a whole file. Raises ToolRefusal for one that is there and was not read, OSError."""
    path, text = bench.path(str(arguments["file_path"])), str(arguments["content"])
    if not bench.files.exists(path):
        return _made(bench, path, text)
    before, content = text_at(bench, path)
    bench.require_known(path, content)
    _put(bench, path, text)
    changed: JsonObject = {"file_path": path, "created": False, "diff": diff(path, before, text)}
    return Observation(f"The file {path} has been updated.", structured=changed)


def diff(path: str, before: str, after: str) -> str:
    """Return what changed in a file, as `diff -u` shows it, with paths as git writes them."""
    name = path.lstrip("/")
    parts = unified_diff(split(before), split(after), f"a/{name}" if before else "/dev/null", f"b/{name}")
    return "".join(part if part.endswith("\n") else f"{part}\n\\ No newline at end of file\n" for part in parts)


def _made(bench: Workbench, path: str, text: str) -> Observation:
    if bench.files.exists(path) and text_at(bench, path)[0]:
        raise ToolRefusal("Cannot create new file - file already exists.")
    _put(bench, path, text)
    changed: JsonObject = {"file_path": path, "replacements": 1, "created": True, "diff": diff(path, "", text)}
    return Observation(f"File created successfully at: {path}", structured=changed)


def _put(bench: Workbench, path: str, text: str) -> None:
    content = text.encode()
    folder = dirname(path)
    if not bench.files.exists(folder):
        bench.files.make_directory(folder, parents=True)
    bench.files.write(path, content)
    bench.note(path, content)
