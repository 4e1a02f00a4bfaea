"""yes: says the same for ever. The engine's ends after 10,000 lines, with words of its own."""

from simtrain.worlds.machine.commands.options import parsed
from simtrain.worlds.machine.devices import ZEROS
from simtrain.worlds.machine.invocation import Invocation, Result


def yes(call: Invocation) -> Result:
    """Print more lines than a file can hold: a pipe is filled before it is read."""
    options = parsed(call, "")
    if isinstance(options, Result):
        return options
    line = " ".join(options.operands or ["y"]) + "\n"
    return Result(line * (ZEROS // len(line) + 1))
