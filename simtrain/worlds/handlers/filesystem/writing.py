"""The tools that change files: writing, editing, creating directories, moving."""

import re
from collections.abc import Iterable
from hashlib import blake2b
from posixpath import basename, dirname
from typing import Final

from simtrain.contracts.handler import HandlerContext, Reply, ToolError
from simtrain.values.types import JsonObject
from simtrain.worlds.handlers.filesystem.differences import unified_diff
from simtrain.worlds.handlers.filesystem.failures import FileSystemFailure
from simtrain.worlds.handlers.filesystem.paths import located
from simtrain.worlds.handlers.filesystem.reading import text_reply
from simtrain.worlds.handlers.filesystem.tree import LONGEST_NAME, Tree


def write_file(context: HandlerContext) -> Reply:
    """Write a text to a file, new or existing."""
    tree = Tree(context)
    given, content = context.arguments["path"], context.arguments["content"]
    path = located(tree, given)
    if tree.node(path) is not None:
        return _put(context, tree, path, content) or text_reply(f"Successfully wrote to {given}")
    if tree.node(dirname(path)) is None:
        raise FileSystemFailure("ENOENT", "open", path)
    tree.add(path, content=content)
    return text_reply(f"Successfully wrote to {given}")


def _put(context: HandlerContext, tree: Tree, path: str, content: str) -> Reply | None:
    """Replace a file through a temporary file in its folder. Returns the error reply if the path is a directory."""
    # The server takes 16 random bytes here; a digest has their length and is the same in every run.
    unique = blake2b(f"{path}\0{context.now}\0{content}".encode(), digest_size=16).hexdigest()
    beside = f"{path}.{unique}.tmp"
    if len(basename(beside).encode()) > LONGEST_NAME:
        raise FileSystemFailure("ENAMETOOLONG", "open", beside)
    node = tree.node(path)
    if node is not None and node.kind == "directory":
        # The temporary file was created and removed again.
        tree.touch(dirname(path))
        return Reply(str(FileSystemFailure("EISDIR", "rename", beside, path)), is_error=True)
    tree.replace(path, content)
    return None


def edit_file(context: HandlerContext) -> Reply:
    """Replace texts in a file, or show what would change."""
    tree = Tree(context)
    path = located(tree, context.arguments["path"])
    before = with_unix_lines(tree.text(path))
    after = edited(before, context.arguments["edits"])
    if not context.arguments["dryRun"]:
        _put(context, tree, path, after)
    return text_reply(fenced(unified_diff(path, before, after)))


def create_directory(context: HandlerContext) -> Reply:
    """Create a directory, and those above it that are missing."""
    tree = Tree(context)
    given = context.arguments["path"]
    path = located(tree, given)
    node = tree.node(path)
    if node is not None and node.kind != "directory":
        raise FileSystemFailure("EEXIST", "mkdir", path)
    missing: list[str] = []
    at = path
    while tree.node(at) is None:
        missing.append(at)
        at = dirname(at)
    for one in reversed(missing):
        if len(basename(one).encode()) > LONGEST_NAME:
            # The directories above it stay.
            return Reply(str(FileSystemFailure("ENAMETOOLONG", "mkdir", path)), is_error=True)
        tree.add(one)
    return text_reply(f"Successfully created directory {given}")


def move_file(context: HandlerContext) -> Reply:
    """Give a file or directory another path, never one that is taken."""
    tree = Tree(context)
    source = located(tree, context.arguments["source"])
    destination = located(tree, context.arguments["destination"])
    if tree.node(destination) is not None:
        raise ToolError(f"Destination already exists: {destination}")
    if tree.node(source) is None or tree.node(dirname(destination)) is None:
        raise FileSystemFailure("ENOENT", "rename", source, destination)
    if destination.startswith(f"{source}/"):
        raise FileSystemFailure("EINVAL", "rename", source, destination)
    tree.move(source, destination)
    return text_reply(f"Successfully moved {context.arguments['source']} to {context.arguments['destination']}")


_SPACE: Final = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f"
    "\u205f\u3000\ufeff"
)
"""JavaScript's white space; `str.strip` would take U+001C to U+001F and U+0085 as well."""

_TICKS = re.compile(r"`+")


def with_unix_lines(text: str) -> str:
    """Return the text with `\\n` for every `\\r\\n`."""
    return text.replace("\r\n", "\n")


def edited(text: str, edits: Iterable[JsonObject]) -> str:
    """Return the text after all edits, in order; each changes the first match. Raises ToolError if there is none."""
    for edit in edits:
        old, new = with_unix_lines(edit["oldText"]), with_unix_lines(edit["newText"])
        if old in text:
            text = text.replace(old, new, 1)
            continue
        changed = _replaced_loosely(text, old, new)
        if changed is None:
            raise ToolError(f"Could not find exact match for edit:\n{edit['oldText']}")
        text = changed
    return text


def _replaced_loosely(text: str, old: str, new: str) -> str | None:
    lines, wanted = text.split("\n"), old.split("\n")
    # Second try, as in the reference server: lines are equal if they differ only in indentation and trailing space.
    bare = [line.strip(_SPACE) for line in lines]
    sought = [line.strip(_SPACE) for line in wanted]
    for start in range(len(lines) - len(wanted) + 1):
        if bare[start : start + len(wanted)] == sought:
            lines[start : start + len(wanted)] = _indented(new.split("\n"), wanted, _indent(lines[start]))
            return "\n".join(lines)
    return None


def _indented(new: list[str], old: list[str], indent: str) -> list[str]:
    """Return the new lines, indented like the first line that they replace, keeping relative indents."""
    lines = [indent + new[0].lstrip(_SPACE)]
    for index, line in enumerate(new[1:], start=1):
        before, now = _indent(old[index]) if index < len(old) else "", _indent(line)
        if before and now:
            line = indent + " " * max(0, len(now) - len(before)) + line.lstrip(_SPACE)
        lines.append(line)
    return lines


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(_SPACE))]


def fenced(diff: str) -> str:
    """Return a diff as a Markdown block, fenced with more backticks than any run in it."""
    longest = max((len(ticks) for ticks in _TICKS.findall(diff)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}diff\n{diff}{fence}\n\n"
