"""Scripts that are called by their path and need more than the engine of the shell gives them.

It takes any file that is called for a script of bash, and those of Python are none; it reads the clock of the host in those of bash, and
gives their jobs in the background no time of their own.
"""

import re
from collections.abc import Iterator
from posixpath import join, normpath

from simtrain.worlds.machine.commands.python import SHEBANG
from simtrain.worlds.machine.commands.time_words import asks_for_times, content_asks_for_times
from simtrain.worlds.machine.file_tree import FileTree
from simtrain.worlds.machine.forking_scripts import forks, may_fork

_PATH = re.compile(r"(?<![\w./~+-])(?:~/|\.{0,2}/|[\w+-]+/)[\w./+-]*\w(?![\w/])")
"""What may be a path in a command line."""
_PROGRAMS = ("/usr/local/bin", "/usr/local/sbin", "/usr/bin")


def script_names(tree: FileTree, script: str, directory: str, home: str) -> Iterator[tuple[str, str]]:
    """Yield the names by which a command line may call such a script, and the path of each, as far as it is named there.

    A script that this very command line writes is meant if it ends in `.py`, or if the line holds a first line for Python, or starts a job.
    """
    writes_one = ("#!" in script and ("python" in script or asks_for_times(script))) or (
        "chmod" in script and may_fork(script.encode(errors="replace"))
    )
    # The shell puts a home directory in the place of `~` before it looks for the command.
    for name in {re.sub(r"^~(?=/)", home, found[0]) for found in _PATH.finditer(script)}:
        path = normpath(join(directory, name))
        if writes_one or name.endswith(".py") or is_python(tree, path) or needs_more(tree, path):
            yield name, name
    for folder in _PROGRAMS:
        for name in sorted(tree.names(folder)):
            if is_python(tree, f"{folder}/{name}"):
                yield name, f"{folder}/{name}"


def needs_more(tree: FileTree, path: str) -> bool:
    """True if a script at a path asks for the time, or starts jobs in the background."""
    node = tree.get(path)
    if node is None or node.kind != "file":
        return False
    return content_asks_for_times(node.content) or forks(node.content)


def is_python(tree: FileTree, path: str) -> bool:
    """True if the first line of the file at a path gives it to Python."""
    node = tree.get(path)
    if node is None or not node.content.startswith(b"#!"):
        return False
    return SHEBANG.fullmatch(node.content.partition(b"\n")[0].decode("utf-8", "replace")) is not None
