"""Scripts of bash that are called by their path: as the first line of the file says.

The engine leaves that line out. So options there have no effect, lines count one less in errors and in `$LINENO`, and a first line that
names nothing is as good as any. `bash FILE` is right, and is what a function of the same name calls.
"""

import re
from collections.abc import Iterable
from posixpath import basename, join, normpath

from simtrain.worlds.machine.accounts import SEARCH
from simtrain.worlds.machine.called_scripts import without_tilde
from simtrain.worlds.machine.file_tree import FileTree
from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.programs import is_program

OPTIONS = "_first_line"
_SHELLS = ("bash", "dash", "sh")
_FIRST_LINE = re.compile(r"#![ \t]*(/[^ \t\n]*)[ \t]*(.*)")
_CALLED = re.compile(
    r"(?:^|[\n;&|({!]|\b(?:then|do|else|elif|if|while|until|time)\b)[ \t]*(?:\w+=[^\s;&|'\"`$]*[ \t]+)*"
    r"((?:~/|\.{0,2}/|[\w+-]+/)[\w./+-]*\w)(?=[\s;&|)<>]|$)"
)
"""A path where a command stands."""


def may_call(script: str) -> bool:
    """True if a command line may call a script by its path: cheap, and true for others as well."""
    return "/" in script and _CALLED.search(script) is not None


def called_by_path(tree: FileTree, script: str, directory: str, home: str) -> list[str]:
    """Return the paths of scripts, as they are written, that a command line calls; also of what it may write itself."""
    writes_one = "#!" in script

    def is_script(name: str) -> bool:
        node = tree.get(normpath(join(directory, name)))
        if node is None:
            return writes_one
        return (writes_one or node.content.startswith(b"#!")) and not is_program(node.content)

    names = {without_tilde(found[1], home) for found in _CALLED.finditer(script)}
    return sorted(name for name in names if is_script(name))


def functions_for(names: Iterable[str]) -> str:
    """Return functions for the beginning of the first line of a script that calls these paths."""
    return "".join(
        f'{name}() {{ local _o; if _o=$({OPTIONS} {name}); then bash $_o {name} "$@"; '
        f'elif [ $? != 127 ]; then command {name} "$@"; else return 127; fi; }}; '
        for name in names
    )


def first_line(call: Invocation) -> Result:
    """Print the options of the shell that a file names in its first line. Fails if the file is to be run by something else."""
    path = call.path(call.arguments[0])
    node = call.files.node(path) if call.files.exists(path) else None
    if node is None or node.kind != "file" or is_program(node.content) or not call.files.user.may(SEARCH, node):
        return Result(exit_code=1)
    found = _FIRST_LINE.match(node.content[:200].decode("utf-8", "replace"))
    if found is None:
        return Result(exit_code=1)
    if not call.files.exists(found[1]):
        return Result(
            stderr=f"bash: line 1: {call.arguments[0]}: cannot execute: required file not found\n", exit_code=127
        )
    words = found[2].split()
    if basename(found[1]) == "env":
        words = [word for word in words if word != "-S"]
        return Result(" ".join(words[1:])) if words and words[0] in _SHELLS else Result(exit_code=1)
    return Result(found[2].rstrip()) if basename(found[1]) in _SHELLS else Result(exit_code=1)
