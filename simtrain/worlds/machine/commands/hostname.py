"""hostname: the name of the machine."""

from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.network import address_of


def hostname(call: Invocation) -> Result:
    """Print the name of the machine; -s cuts it at its first dot, -i and -I print its address, -d its domain."""
    name = call.machine.name
    if call.arguments[:1] in (("-i",), ("--ip-address",)):
        return Result(f"{address_of(call.machine)}\n")
    if call.arguments[:1] in (("-I",), ("--all-ip-addresses",)):
        return Result(f"{address_of(call.machine)} \n")
    if call.arguments[:1] in (("-d",), ("--domain",)):
        return Result(f"{name.partition('.')[2]}\n")
    if call.arguments and not call.arguments[0].startswith("-"):
        return call.fail("you must be root to change the host name")
    return Result(f"{name.partition('.')[0] if '-s' in call.arguments else name}\n")
