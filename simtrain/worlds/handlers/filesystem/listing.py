"""The tools that look around: listings, the tree, searches, file info, the allowed folders."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from posixpath import relpath

from simtrain.contracts.handler import HandlerContext, Reply, ToolError
from simtrain.values.types import encode
from simtrain.worlds.handlers.filesystem.collation import collation_key
from simtrain.worlds.handlers.filesystem.failures import FileSystemFailure
from simtrain.worlds.handlers.filesystem.globs import Test, glob
from simtrain.worlds.handlers.filesystem.paths import located
from simtrain.worlds.handlers.filesystem.reading import text_reply
from simtrain.worlds.handlers.filesystem.tree import FileNode, Tree

_UNITS = ("B", "KB", "MB", "GB", "TB")
_MARKS = {"directory": "[DIR]", "file": "[FILE]", "symlink": "[FILE]"}


def list_directory(context: HandlerContext) -> Reply:
    """Return the entries of a directory."""
    tree = Tree(context)
    entries = tree.entries(located(tree, context.arguments["path"]))
    return text_reply("\n".join(f"{_MARKS[node.kind]} {node.name}" for node in entries))


def list_directory_with_sizes(context: HandlerContext) -> Reply:
    """Return the entries of a directory with their sizes, sorted by name or from the largest down, and the totals."""
    tree = Tree(context)
    entries = [(node, _size(tree, node)) for node in tree.entries(located(tree, context.arguments["path"]))]
    if context.arguments["sortBy"] == "size":
        entries.sort(key=lambda entry: -entry[1])
    else:
        entries.sort(key=lambda entry: collation_key(entry[0].name))
    files = [size for node, size in entries if node.kind != "directory"]
    lines = [_sized(node, size) for node, size in entries]
    sums = [
        f"Total: {len(files)} files, {len(entries) - len(files)} directories",
        f"Combined size: {_written(sum(files))}",
    ]
    return text_reply("\n".join([*lines, "", *sums]))


def _size(tree: Tree, node: FileNode) -> int:
    """Return the size of a node, or of a symlink's target; 0 for a symlink that leads nowhere."""
    if node.kind != "symlink":
        return node.size
    try:
        return tree.real(node.path).size
    except FileSystemFailure:
        return 0


def _sized(node: FileNode, size: int) -> str:
    written = "" if node.kind == "directory" else _written(size).rjust(10)
    # JavaScript's padEnd counts UTF-16 units: a character outside the BMP takes two.
    width = 30 - sum(character > "\uffff" for character in node.name)
    return f"{_MARKS[node.kind]} {node.name.ljust(width)} {written}"


def _written(size: int) -> str:
    """Return a size in the largest unit that keeps it at 1 or more: `1.50 KB`."""
    unit = 0
    while size >= 1024 ** (unit + 1) and unit < len(_UNITS) - 1:
        unit += 1
    if unit == 0:
        return f"{size} B"
    # Like JavaScript's toFixed, which rounds a tie up; Python's format would round it to even.
    return f"{(Decimal(size) / 1024**unit).quantize(Decimal('0.01'), ROUND_HALF_UP)} {_UNITS[unit]}"


def directory_tree(context: HandlerContext) -> Reply:
    """Return everything below a directory as nested JSON, without what matches the excluded patterns."""
    tree = Tree(context)
    top = located(tree, context.arguments["path"])
    excluded = [test for pattern in context.arguments["excludePatterns"] for test in _anywhere(pattern)]
    below = tree.below(top)
    kept = {
        path: [node for node in nodes if not _any_fits(excluded, relpath(node.path, top))]
        for path, nodes in below.items()
    }
    return text_reply("".join(_nested(kept, top)))


def _anywhere(pattern: str) -> list[Test]:
    """Return the tests of a pattern; one without a star also matches a name, and everything below it, at any depth."""
    if "*" in pattern:
        return [glob(pattern)]
    return [glob(pattern), glob(f"**/{pattern}"), glob(f"**/{pattern}/**")]


def _any_fits(tests: list[Test], path: str) -> bool:
    return any(test(path) for test in tests)


def _nested(kept: Mapping[str, list[FileNode]], top: str) -> Iterator[str]:
    """Yield the entries below a directory as JSON.stringify writes them with an indent of two spaces, in pieces.

    An agent may nest directories deeper than Python recurses, so the open lists are on a stack.
    """
    yield "["
    open_lists = [iter(kept[top])]
    first = True
    while open_lists:
        margin = "    " * (len(open_lists) - 1)
        node = next(open_lists[-1], None)
        if node is None:
            open_lists.pop()
            yield "]" if first else f"\n{margin}]"
            if open_lists:
                yield f"\n{margin[2:]}}}"
            first = False
            continue
        kind = "directory" if node.kind == "directory" else "file"
        yield ("" if first else ",") + f'\n{margin}  {{\n{margin}    "name": {encode(node.name)},'
        yield f'\n{margin}    "type": "{kind}"'
        first = kind == "directory"
        if first:
            yield f',\n{margin}    "children": ['
            open_lists.append(iter(kept[node.path]))
        else:
            yield f"\n{margin}  }}"


def search_files(context: HandlerContext) -> Reply:
    """Return the paths below a directory that match a pattern, each directory before its entries."""
    tree = Tree(context)
    top = located(tree, context.arguments["path"])
    wanted = glob(context.arguments["pattern"])
    excluded = [glob(pattern) for pattern in context.arguments["excludePatterns"]]
    found = [node.path for node, path in _walk(tree, top, excluded) if wanted(path)]
    return text_reply("\n".join(found) or "No matches found")


def _walk(tree: Tree, top: str, excluded: list[Test]) -> Iterator[tuple[FileNode, str]]:
    """Yield all nodes below a directory with their paths from it, each directory before its entries."""
    below = tree.below(top)
    # Reversed, as the last one is taken first.
    waiting = below[top][::-1]
    while waiting:
        node = waiting.pop()
        path = relpath(node.path, top)
        if _any_fits(excluded, path) or (node.kind == "symlink" and not _leads_inside(tree, node.path)):
            continue
        yield node, path
        if node.kind == "directory":
            waiting += below[node.path][::-1]


def _leads_inside(tree: Tree, path: str) -> bool:
    try:
        located(tree, path)
    except ToolError:
        return False
    return True


def get_file_info(context: HandlerContext) -> Reply:
    """Size, times, kind and permissions of a file or directory."""
    tree = Tree(context)
    path = located(tree, context.arguments["path"])
    node = tree.node(path)
    if node is None:
        raise FileSystemFailure("ENOENT", "stat", path)
    known = {
        "size": node.size,
        "created": _date(node.created),
        "modified": _date(node.modified),
        "accessed": _date(node.accessed),
        "isDirectory": str(node.kind == "directory").lower(),
        "isFile": str(node.kind == "file").lower(),
        "permissions": f"{node.mode & 0o777:03o}",
    }
    return text_reply("\n".join(f"{name}: {value}" for name, value in known.items()))


def _date(instant: str) -> str:
    """Return an instant as JavaScript writes a date."""
    moment = datetime.fromisoformat(instant)
    # The names in ctime() are English in every locale; those of strftime are not.
    return f"{moment.ctime()[:7]} {moment:%d %Y %H:%M:%S} GMT+0000 (Coordinated Universal Time)"


def list_allowed_directories(context: HandlerContext) -> Reply:
    """Return the folders that the server may use."""
    return text_reply("\n".join(["Allowed directories:", *Tree(context).roots]))
