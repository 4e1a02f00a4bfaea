"""mkdir: makes directories."""

from simtrain.worlds.machine.commands.ls import quoted
from simtrain.worlds.machine.commands.modes import new_mode
from simtrain.worlds.machine.commands.options import parsed, usage
from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.problems import attempt


def mkdir(call: Invocation) -> Result:
    """Make each directory, with -p also those on the way."""
    options = parsed(call, "m:pvZ", {"mode=": "m", "parents": "p", "verbose": "v"})
    if isinstance(options, Result):
        return options
    if not options.operands:
        return usage(call, "missing operand")
    mode = 0o777
    if options.has("m"):
        found = new_mode(options.value("m") or "", 0o777, directory=False, umask=call.files.umask)
        if found is None:
            return call.fail(f"invalid mode {quoted(options.value('m') or '')}")
        mode = found
    output, errors = "", ""
    for name in options.operands:
        steps = _steps(name) if options.has("p") else [name]
        for step in steps:
            path = call.path(step)
            if options.has("p") and call.files.is_directory(path):
                continue
            made = attempt(lambda path=path: call.files.make_directory(path.rstrip("/")))
            if isinstance(made, OSError):
                errors += f"mkdir: cannot create directory {quoted(name)}: {made.strerror}\n"
                break
            if options.has("v"):
                output += f"mkdir: created directory {quoted(step)}\n"
            if options.has("m") and step == steps[-1]:
                call.files.change_mode(path, mode)
    return Result(output, errors, 1 if errors else 0)


def _steps(name: str) -> list[str]:
    parts = name.rstrip("/").split("/")
    return ["/".join(parts[: depth + 1]) for depth in range(len(parts)) if "/".join(parts[: depth + 1])]
