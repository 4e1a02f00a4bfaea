"""timeout: runs a command in a child process and stops it when its virtual time is up."""

from simtrain.worlds.machine.commands.sleep import interval
from simtrain.worlds.machine.invocation import Invocation, Result, quoted

_USAGE = "Try 'timeout --help' for more information.\n"
_WITH_VALUE = {"-s", "--signal", "-k", "--kill-after"}
_FLAGS = {"-f", "--foreground", "-p", "--preserve-status", "-v", "--verbose"}


def timeout(call: Invocation) -> Result:
    """Run a command for at most so many seconds; exit code 124 if it takes longer."""
    rest = list(call.arguments)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option == "--":
            break
        if option in _WITH_VALUE and rest:
            rest.pop(0)
        elif option.partition("=")[0] not in _WITH_VALUE | _FLAGS and option[:2] not in _WITH_VALUE:
            return Result(stderr=f"timeout: unrecognized option '{option}'\n{_USAGE}", exit_code=125)
    if len(rest) < 2:
        return Result(stderr=f"timeout: missing operand\n{_USAGE}", exit_code=125)
    limit = interval(rest[0])
    if limit is None:
        return Result(stderr=f"timeout: invalid time interval '{rest[0]}'\n{_USAGE}", exit_code=125)
    # The child is a shell already: a second one within would keep what it printed until its end.
    inner = rest[3] if len(rest) == 4 and rest[1] in ("bash", "sh") and rest[2] == "-c" else quoted(rest[1:])
    # A duration of 0 switches the limit off.
    return call.run(inner, stdin=call.stdin, limit=limit or None)
