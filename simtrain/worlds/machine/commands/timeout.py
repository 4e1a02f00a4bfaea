"""timeout: runs a command in a child process and stops it when its virtual time is up."""

from dataclasses import replace

from simtrain.worlds.machine.commands.kill import number_of
from simtrain.worlds.machine.commands.sleep import interval
from simtrain.worlds.machine.engine import TIMED_OUT
from simtrain.worlds.machine.exported_functions import has_exported
from simtrain.worlds.machine.invocation import Invocation, Result, quoted

_KILL = 9
_USAGE = "Try 'timeout --help' for more information.\n"
_WITH_VALUE = {"-s", "--signal", "-k", "--kill-after"}
_FLAGS = {"--foreground", "--preserve-status", "-v", "--verbose"}


def timeout(call: Invocation) -> Result:
    """Run a command for at most so many seconds. If it takes longer, the exit code is 124, or that of a process which the signal ends."""
    rest, signal, preserved = list(call.arguments), "TERM", False
    while rest and rest[0].startswith("-") and rest[0] != "-":
        option = rest.pop(0)
        if option == "--":
            break
        preserved = preserved or option == "--preserve-status"
        if option in ("-s", "--signal") and rest:
            signal = rest.pop(0)
        elif option.startswith(("-s", "--signal=")):
            signal = option.removeprefix("--signal=").removeprefix("-s")
        elif option in _WITH_VALUE and rest:
            rest.pop(0)
        elif option.partition("=")[0] not in _WITH_VALUE | _FLAGS and option[:2] not in _WITH_VALUE:
            what = f"unrecognized option '{option}'" if option.startswith("--") else f"invalid option -- '{option[1]}'"
            return Result(stderr=f"timeout: {what}\n{_USAGE}", exit_code=125)
    if len(rest) < 2:
        return Result(stderr=f"timeout: missing operand\n{_USAGE}", exit_code=125)
    limit = interval(rest[0])
    if limit is None:
        return Result(stderr=f"timeout: invalid time interval '{rest[0]}'\n{_USAGE}", exit_code=125)
    # The child is a shell already: a second one within would keep what it printed until its end.
    is_child = len(rest) == 4 and rest[1] in ("bash", "sh") and rest[2] == "-c"
    inner = rest[3] if is_child and not has_exported(call.environment) else quoted(rest[1:])
    number = number_of(signal)
    if number is None:
        return Result(stderr=f"timeout: '{signal}': invalid signal\n{_USAGE}", exit_code=125)
    # A duration of 0 switches the limit off.
    done = call.run(inner, stdin=call.stdin, limit=limit or None)
    # Nothing is left of timeout to say 124 once the signal is KILL.
    ended = done.exit_code == TIMED_OUT and (preserved or number == _KILL)
    return replace(done, exit_code=128 + number) if ended else done
