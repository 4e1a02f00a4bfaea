"""realpath and readlink: where paths lead."""

from posixpath import dirname, relpath

from simtrain.worlds.machine.commands.ls import quoted
from simtrain.worlds.machine.commands.options import parsed, usage
from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.problems import attempt

_LONG = {"canonicalize-existing": "e", "canonicalize-missing": "m", "canonicalize": "f", "zero": "z", "quiet": "q"}


def realpath(call: Invocation) -> Result:
    """Print the absolute path of each name, without links, `.` and `..`."""
    long = {**_LONG, "relative-to=": "to", "relative-base=": "base", "no-symlinks": "s", "strip": "s", "logical": "L"}
    options = parsed(call, "eLmPqsz", long)
    if isinstance(options, Result):
        return options
    if not options.operands:
        return usage(call, "missing operand")
    how = options.last("e", "m") or "f"
    end = "\0" if options.has("z") else "\n"
    output, errors = "", ""
    for name in options.operands:
        found = call.plain_path(name) if options.has("s") else resolved(call, name, how)
        if isinstance(found, OSError):
            errors += "" if options.has("q") else f"realpath: {name}: {found.strerror}\n"
            continue
        to = options.value("to")
        if to is not None:
            base = resolved(call, to, how)
            found = relpath(found, base) if isinstance(base, str) else found
        output += found + end
    return Result(output, errors, 1 if errors or len(output.split(end)) - 1 < len(options.operands) else 0)


def readlink(call: Invocation) -> Result:
    """Print the target of each link; with -f the absolute path that it leads to."""
    options = parsed(call, "efmnqsvz", {**_LONG, "no-newline": "n", "verbose": "v", "silent": "q"})
    if isinstance(options, Result):
        return options
    if not options.operands:
        return usage(call, "missing operand")
    how = options.last("e", "f", "m")
    end = "" if options.has("n") and len(options.operands) == 1 else "\0" if options.has("z") else "\n"
    output, code, errors = "", 0, ""
    for name in options.operands:
        found = resolved(call, name, how) if how else attempt(lambda name=name: call.files.read_link(call.path(name)))
        if isinstance(found, OSError):
            code = 1
            errors += f"readlink: {quoted(name).strip(chr(39))}: {found.strerror}\n" if options.has("v") else ""
            continue
        output += found + end
    return Result(output, errors, code)


def resolved(call: Invocation, name: str, how: str) -> str | OSError:
    """Return a path without links: `e` all of it must exist, `f` all but the last part, `m` none."""
    path = call.path(name)
    if not name:
        return FileNotFoundError(2, "No such file or directory")
    found = attempt(lambda: call.files.real(path))
    if isinstance(found, OSError):
        if how != "m" or not isinstance(found, FileNotFoundError | NotADirectoryError):
            return found
        above = resolved(call, dirname(call.plain_path(name)) or "/", how)
        return (
            above if isinstance(above, OSError) else f"{above.rstrip('/')}/{call.plain_path(name).rpartition('/')[2]}"
        )
    if how == "e" and not call.files.exists(path):
        return FileNotFoundError(2, "No such file or directory")
    return found
