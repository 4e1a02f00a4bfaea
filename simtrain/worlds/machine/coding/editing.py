"""The tools `edit` and `write`: exact replacement in a file, and whole files. What the agent has not read is not overwritten."""

from difflib import unified_diff
from posixpath import dirname

from simtrain.values.types import JsonObject, Observation
from simtrain.worlds.machine.coding.desk import CodingDesk, CodingRefusal
from simtrain.worlds.machine.coding.reading import numbered, split, text_at

_AROUND = 4
"""Lines that are shown before and after an edit."""


def edit(desk: CodingDesk, arguments: JsonObject) -> Observation:
    """Replace a text. Raises CodingRefusal unless it stands in the file exactly once, or at all with `replace_all`; OSError."""
    path = desk.path(str(arguments["file_path"]))
    old, new = str(arguments["old_string"]), str(arguments["new_string"])
    if old == new:
        raise CodingRefusal("No changes to make: old_string and new_string are exactly the same.")
    if not old:
        return _made(desk, path, new)
    text, content = text_at(desk, path)
    desk.require_known(path, content)
    count = text.count(old)
    if count == 0:
        raise CodingRefusal(f"String to replace not found in file.\nString: {old}")
    if count > 1 and not arguments.get("replace_all"):
        raise CodingRefusal(
            f"Found {count} matches of the string to replace, but replace_all is false. To replace all occurrences, set replace_all "
            "to true. To replace only one occurrence, please provide more context to uniquely identify the instance.\n"
            f"String: {old}"
        )
    after = text.replace(old, new)
    _put(desk, path, after)
    changed: JsonObject = {"file_path": path, "replacements": count, "diff": diff(path, text, after)}
    if count > 1:
        return Observation(
            f"The file {path} has been updated. All {count} occurrences were successfully replaced.", structured=changed
        )
    first = text[: text.index(old)].count("\n")
    snippet = split(after)[max(0, first - _AROUND) : first + new.count("\n") + 1 + _AROUND]
    said = f"The file {path} has been updated. Here's the result of running `cat -n` on a snippet of the edited file:"
    return Observation(f"{said}\n{numbered(snippet, max(0, first - _AROUND) + 1)}", structured=changed)


def write(desk: CodingDesk, arguments: JsonObject) -> Observation:
    """Write a whole file. Raises CodingRefusal for one that is there and was not read, OSError."""
    path, text = desk.path(str(arguments["file_path"])), str(arguments["content"])
    if not desk.files.exists(path):
        return _made(desk, path, text)
    before, content = text_at(desk, path)
    desk.require_known(path, content)
    _put(desk, path, text)
    changed: JsonObject = {"file_path": path, "created": False, "diff": diff(path, before, text)}
    return Observation(f"The file {path} has been updated.", structured=changed)


def diff(path: str, before: str, after: str) -> str:
    """Return what changed in a file, as `diff -u` shows it, with paths as git writes them."""
    name = path.lstrip("/")
    parts = unified_diff(split(before), split(after), f"a/{name}" if before else "/dev/null", f"b/{name}")
    return "".join(part if part.endswith("\n") else f"{part}\n\\ No newline at end of file\n" for part in parts)


def _made(desk: CodingDesk, path: str, text: str) -> Observation:
    if desk.files.exists(path) and text_at(desk, path)[0]:
        raise CodingRefusal("Cannot create new file - file already exists.")
    _put(desk, path, text)
    changed: JsonObject = {"file_path": path, "replacements": 1, "created": True, "diff": diff(path, "", text)}
    return Observation(f"File created successfully at: {path}", structured=changed)


def _put(desk: CodingDesk, path: str, text: str) -> None:
    content = text.encode()
    folder = dirname(path)
    if not desk.files.exists(folder):
        desk.files.make_directory(folder, parents=True)
    desk.files.write(path, content)
    desk.note(path, content)
