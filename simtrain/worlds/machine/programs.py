"""The programs of a machine: files in /usr/bin by which its commands are found and called, and what of them is no program.

The commands themselves are the shell's. Each file is a script of two lines that calls the command of its name.
"""

from collections.abc import Iterable, Iterator
from functools import cache

from bashkit import Bash, ExecutionProfile

from simtrain.worlds.machine.commands import ABSENT, COMMANDS, PYTHON_COMMANDS
from simtrain.worlds.machine.parser_stacks import deepen_parsers

KEYWORDS = frozenset(
    {"!", ".", ":", "[[", "]]", "alias", "bg", "bind", "break", "builtin", "caller", "case", "cd", "command", "compgen", "complete",
     "compopt", "continue", "coproc", "declare", "dirs", "disown", "do", "done", "elif", "else", "enable", "esac", "eval", "exec",
     "exit", "export", "fc", "fg", "fi", "for", "function", "getopts", "hash", "help", "history", "if", "in", "jobs", "let", "local",
     "logout", "mapfile", "popd", "pushd", "read", "readarray", "readonly", "return", "select", "set", "shift", "shopt", "source",
     "suspend", "then", "time", "times", "trap", "type", "typeset", "ulimit", "umask", "unalias", "unset", "until", "wait", "while",
     "{", "}"}
)  # fmt: skip
"""Keywords and builtins of bash that are no programs as well."""
FOLDER, OWN_FOLDER = "/usr/bin", "/usr/local/bin"
_OTHER_FOLDERS: dict[str, str] = dict.fromkeys(("hwclock", "ifconfig", "ip", "service"), "/usr/sbin")


@cache
def names_of_commands() -> frozenset[str]:
    """Return the names of the engine's commands and of ours."""
    deepen_parsers()
    listed = Bash(profile=ExecutionProfile.Interactive).execute_sync("compgen -c").stdout.split()
    return frozenset(listed) | COMMANDS.keys()


def python_programs() -> Iterator[tuple[str, bytes]]:
    """Yield path and content of each program of the package python3."""
    for name in PYTHON_COMMANDS:
        yield f"{FOLDER}/{name}", content_of(name)


@cache
def content_of(name: str) -> bytes:
    """Return what the file of a program holds."""
    return f'#!/bin/sh\nexec {name} "$@"\n'.encode()


@cache
def contents() -> frozenset[bytes]:
    """Return what the files of all programs hold that every machine has, or that come with Python."""
    return frozenset(content_of(name) for name in (*_names(), *PYTHON_COMMANDS))


def is_program(content: bytes) -> bool:
    """True if a file is a program as every machine has them."""
    return content in contents()


@cache
def _names() -> tuple[str, ...]:
    return tuple(sorted(name for name in names_of_commands() - KEYWORDS - ABSENT if not name.startswith("_")))


def programs(own: Iterable[str] = (), *, python: bool) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of each program of a machine. `own` are the commands of its world; `python` says that it has Python."""
    for name in _names():
        yield f"{_OTHER_FOLDERS.get(name, FOLDER)}/{name}", content_of(name)
    if python:
        yield from python_programs()
    for name in own:
        yield f"{OWN_FOLDER}/{name}", content_of(name)
