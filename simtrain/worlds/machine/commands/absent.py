"""Commands that the engine has and no machine does (`ABSENT`): only a file of the name in PATH is found."""

from simtrain.worlds.machine.commands.which import program
from simtrain.worlds.machine.invocation import Invocation, Result, quoted


def absent(call: Invocation) -> Result:
    """Run the file of the command's name in PATH."""
    path = program(call, call.name)
    if path is None:
        return Result(stderr=f"bash: line 1: {call.name}: command not found\n", exit_code=127)
    return call.run(quoted([path, *call.arguments]), stdin=call.stdin)
