"""which: where a command is found in PATH."""

from simtrain.worlds.machine.accounts import SEARCH
from simtrain.worlds.machine.commands import commands
from simtrain.worlds.machine.commands.package_table import python_installed
from simtrain.worlds.machine.invocation import Invocation, Result

_KEYWORDS = frozenset(
    {"alias", "bg", "bind", "break", "builtin", "cd", "command", "compgen", "complete", "continue", "declare", "dirs", "disown",
     "enable", "eval", "exec", "exit", "export", "fc", "fg", "getopts", "hash", "help", "history", "jobs", "let", "local", "logout",
     "mapfile", "popd", "pushd", "read", "readonly", "return", "set", "shift", "shopt", "source", "suspend", "times", "trap", "type",
     "typeset", "ulimit", "umask", "unalias", "unset", "wait"}
)  # fmt: skip
"""Builtins of bash that are no programs as well."""
# The engine does not tell the type of a command of the world's own, but that there is one.
_IS_PROGRAM = "case $(type -t -- '{name}') in builtin | file) ;; '') command -v -- '{name}' ;; *) false ;; esac"


def which(call: Invocation) -> Result:
    """Print the path of each command; exit code 1 if one of them is none."""
    names = [word for word in call.arguments if not word.startswith("-")]
    found = [(name, program(call, name)) for name in names]
    lines = "".join(f"{path}\n" for _, path in found if path)
    return Result(lines, exit_code=0 if names and all(path for _, path in found) else 1)


def program(call: Invocation, name: str) -> str | None:
    """Return the path of a command: of a file in PATH, or of a program that every machine has."""
    if "/" in name:
        path = call.path(name)
        return name if call.files.may(SEARCH, path) and not call.files.is_directory(path) else None
    for folder in call.environment.get("PATH", "").split(":"):
        path = f"{folder}/{name}"
        if call.files.may(SEARCH, path) and not call.files.is_directory(path):
            return path
    if name in _KEYWORDS or not name:
        return None
    # The engine's commands have no file: whether there is one, only the shell itself can tell.
    if name in ("bash", "sh"):
        return f"/usr/bin/{name}"
    if name in commands(python=python_installed(call)):
        return f"/usr/bin/{name}"
    return f"/usr/bin/{name}" if "'" not in name and call.run(_IS_PROGRAM.format(name=name)).exit_code == 0 else None
