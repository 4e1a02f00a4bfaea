"""hostname: the name of the machine."""

from simtrain.worlds.machine.invocation import Invocation, Result


def hostname(call: Invocation) -> Result:
    """Print the name of the machine; -s cuts it at its first dot."""
    name = call.machine.name
    if call.arguments and not call.arguments[0].startswith("-"):
        return call.fail("you must be root to change the host name")
    return Result(f"{name.partition('.')[0] if '-s' in call.arguments else name}\n")
