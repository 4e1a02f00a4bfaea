"""zcat and gunzip -c by their usual name."""

from simtrain.worlds.machine.invocation import Invocation, Result, quoted


def zcat(call: Invocation) -> Result:
    """Print what compressed files hold."""
    return call.run(quoted(["gunzip", "-c", *call.arguments]), stdin=call.stdin)
