"""which: where a command is found in PATH."""

from simtrain.worlds.machine.accounts import SEARCH
from simtrain.worlds.machine.invocation import Invocation, Result


def which(call: Invocation) -> Result:
    """Print the path of each command; exit code 1 if one of them is none."""
    words = [word for word in call.arguments if not word.startswith("-")]
    everywhere = any("a" in word for word in call.arguments if word.startswith("-"))
    found = [programs_named(call, name) for name in words]
    lines = "".join(f"{path}\n" for paths in found for path in (paths if everywhere else paths[:1]))
    return Result(lines, exit_code=0 if words and all(found) else 1)


def program(call: Invocation, name: str) -> str | None:
    """Return the path of the program that a name means; None if it means none."""
    return next(iter(programs_named(call, name)), None)


def programs_named(call: Invocation, name: str) -> list[str]:
    """Return the paths of a program in the folders of PATH, or the path that is given."""
    if "/" in name:
        return [name] if _runs(call, call.path(name)) else []
    folders = call.environment.get("PATH", "").split(":") if name else []
    return [path for path in (f"{folder}/{name}" for folder in folders) if _runs(call, path)]


def _runs(call: Invocation, path: str) -> bool:
    return call.files.may(SEARCH, path) and not call.files.is_directory(path)
