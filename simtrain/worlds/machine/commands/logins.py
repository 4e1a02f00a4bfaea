"""w, who, users, last and stty: who is logged in, since when, from where, and at what. It is the agent alone.

The layouts are those of procps 4.0, coreutils 9.1 and util-linux 2.38.
"""

from dataclasses import replace
from datetime import datetime

from simtrain.worlds.machine.commands.about import KERNEL, booted, uptime
from simtrain.worlds.machine.commands.options import parsed
from simtrain.worlds.machine.commands.process_table import TERMINAL, login_name
from simtrain.worlds.machine.commands.zones import local
from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.network import GATEWAY


def who(call: Invocation) -> Result:
    """Print a line for each login: here one."""
    options = parsed(
        call, "abdHlmpqrstTu", {"all": "a", "boot": "b", "count": "q", "heading": "H", "short": "s", "users": "u"}
    )
    if isinstance(options, Result):
        return options
    name = login_name(call)
    if options.has("q"):
        return Result(f"{name}\n# users=1\n")
    if options.has("b"):
        return Result(f"         system boot  {local(booted(call), call.environment):%Y-%m-%d %H:%M}\n")
    head = "NAME     LINE         TIME             COMMENT\n" if options.has("H") else ""
    return Result(f"{head}{name:<8} {TERMINAL:<12} {_began(call):%Y-%m-%d %H:%M} ({GATEWAY})\n")


def users(call: Invocation) -> Result:
    """Print the names of those who are logged in."""
    return Result(f"{login_name(call)}\n")


def w(call: Invocation) -> Result:
    """Print the time, the load, and what each who is logged in does."""
    options = parsed(call, "hsfoiu", {"no-header": "h", "short": "s", "from": "f", "ip-addr": "i"})
    if isinstance(options, Result):
        return options
    name = login_name(call)
    if options.operands and options.operands[0] != name:
        return Result("" if options.has("h") else _head(call, short=options.has("s")))
    line = " ".join(["w", *call.arguments])
    if options.has("s"):
        row = f"{name[:8]:<8} {TERMINAL:<8} {GATEWAY:<16}  0.00s {line}\n"
    else:
        row = f"{name[:8]:<8} {TERMINAL:<8} {GATEWAY:<16} {_began(call):%H:%M}    0.00s  0.00s  0.00s {line}\n"
    return Result(row if options.has("h") else _head(call, short=options.has("s")) + row)


def _head(call: Invocation, *, short: bool) -> str:
    columns = (
        "USER     TTY      FROM              IDLE WHAT"
        if short
        else "USER     TTY      FROM             LOGIN@   IDLE   JCPU   PCPU WHAT"
    )
    return f"{uptime(replace(call, arguments=())).stdout}{columns}\n"


def last(call: Invocation) -> Result:
    """Print the logins and starts of the machine, the newest first."""
    options = parsed(
        call,
        "n:adFiRwx0123456789",
        {"limit=": "n", "fulltimes": "F", "nohostname": "R", "fullnames": "w", "system": "x"},
    )
    if isinstance(options, Result):
        return options
    began, boot = _began(call), local(booted(call), call.environment)
    lines = [
        f"{login_name(call):<8} {TERMINAL:<12} {GATEWAY:<16} {began:%a %b} {began.day:>2} {began:%H:%M}   still logged in",
        f"{'reboot':<8} {'system boot':<12} {KERNEL[:16]:<16} {boot:%a %b} {boot.day:>2} {boot:%H:%M}   still running",
    ]
    lines = [line for line in lines if not options.operands or line.split()[0] in options.operands]
    digits = "".join(letter for letter, _ in options.given if letter.isdigit()) or options.value("n") or ""
    shown = lines[: int(digits)] if digits.isdigit() else lines
    return Result(
        "".join(f"{line}\n" for line in shown) + f"\nwtmp begins {boot:%a %b} {boot.day:>2} {boot:%H:%M:%S %Y}\n"
    )


def _began(call: Invocation) -> datetime:
    return local(call.machine.began, call.environment)


def stty(call: Invocation) -> Result:
    """Refuse: what runs in a call has no terminal. `typed_command.py` answers for those that are typed at one."""
    return call.fail("'standard input': Inappropriate ioctl for device")
