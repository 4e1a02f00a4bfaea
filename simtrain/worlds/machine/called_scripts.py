"""Scripts that are called by their path and need more than the engine of the shell gives them.

It takes any file that is called for a script of bash, and those of Python are none; it reads the clock of the host in those of bash, and
gives their jobs in the background no time of their own.
"""

import re
from collections.abc import Iterator
from posixpath import basename, dirname, join, normpath

from simtrain.worlds.machine.commands.python import SHEBANG
from simtrain.worlds.machine.commands.time_words import asks_for_times, content_asks_for_times
from simtrain.worlds.machine.file_tree import FileTree
from simtrain.worlds.machine.forking_scripts import forks, may_fork

_PATH = re.compile(r"(?<![\w./~+-])(?:~/|\.{0,2}/|[\w+-]+/)[\w./+-]*\w(?![\w/])")
"""What may be a path in a command line."""
_WORD = re.compile(r"[\w.+-]+")
_MADE = re.compile(r"\bchmod\s+\S+\s+([\w./~+\- ]+)")
_SEARCHED = re.compile(r"\bPATH=['\"]?([^\s;&|'\"]+)")
_PROGRAMS = ("/usr/local/bin", "/usr/local/sbin", "/usr/bin")


def script_names(tree: FileTree, script: str, directory: str, home: str, searched: str) -> Iterator[tuple[str, str]]:
    """Yield the names by which a command line may call such a script, and the path of each, as far as it is named there.

    A script that this very command line writes is meant if it ends in `.py`, or if the line holds a first line for Python, or starts a job.
    `searched` is the value of `$PATH`; what the line puts there itself is searched as well.
    """
    writes_one = ("#!" in script and ("python" in script or asks_for_times(script))) or (
        "chmod" in script and may_fork(script.encode(errors="replace"))
    )
    for name in {without_tilde(found[0], home) for found in _PATH.finditer(script)}:
        path = normpath(join(directory, name))
        if writes_one or name.endswith(".py") or is_python(tree, path) or needs_more(tree, path):
            yield name, name
    words = set(_WORD.findall(script))
    for folder in _folders(script, directory, home, searched):
        for name in sorted(words & tree.names(folder)):
            words.discard(name)
            if needs_more(tree, f"{folder}/{name}"):
                yield name, f"{folder}/{name}"
        if writes_one:
            yield from _made(script, folder, directory, home)
    for folder in _PROGRAMS:
        for name in sorted(tree.names(folder)):
            if is_python(tree, f"{folder}/{name}"):
                yield name, f"{folder}/{name}"


def _folders(script: str, directory: str, home: str, searched: str) -> Iterator[str]:
    """Yield the folders in which commands are searched for, in their order."""
    for value in (*_SEARCHED.findall(script), searched):
        for part in value.split(":"):
            folder = re.sub(r"^(?:~|\$HOME|\$\{HOME\})(?=/|$)", home, part).replace("$PWD", directory)
            if "$" not in folder:
                yield normpath(join(directory, folder))


def _made(script: str, folder: str, directory: str, home: str) -> Iterator[tuple[str, str]]:
    """Yield the names of files in a folder that a command line makes executable, and the paths."""
    for found in _MADE.finditer(script):
        for name in found[1].split():
            path = normpath(join(directory, without_tilde(name, home)))
            if dirname(path) == folder:
                yield basename(path), path


def without_tilde(name: str, home: str) -> str:
    """Return a path with the home directory in the place of `~`, which the shell puts there before it looks for the command."""
    return re.sub(r"^~(?=/)", home, name)


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
    first = node.content.partition(b"\n")[0]
    return b"python" in first and SHEBANG.fullmatch(first.decode("utf-8", "replace")) is not None
