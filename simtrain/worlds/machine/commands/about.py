"""uname, uptime, nproc, arch and free: what the machine says of itself."""

from datetime import datetime

from simtrain.worlds.machine.commands.options import parsed
from simtrain.worlds.machine.commands.sizes import human
from simtrain.worlds.machine.commands.zones import local
from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.machine import Machine

KERNEL, BUILD, CORES = "6.1.0-28-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.119-1 (2024-11-22)", 2
MEMORY = 4_012_000
"""Memory of a machine, in KiB."""
_SCALES = {"b": 1024.0, "m": 1 / 1024, "g": 1 / 1024**2}
UP = 86_400 * 3
"""Seconds that a machine has been up when an episode begins."""


def uname(call: Invocation) -> Result:
    """Print system, name, kernel and architecture."""
    long = {"all": "a", "kernel-name": "s", "nodename": "n", "kernel-release": "r", "kernel-version": "v", "machine": "m",
            "processor": "p", "hardware-platform": "i", "operating-system": "o"}  # fmt: skip
    options = parsed(call, "asnrvmpio", long)
    if isinstance(options, Result):
        return options
    parts = {"s": "Linux", "n": call.machine.name, "r": KERNEL, "v": BUILD, "m": "x86_64", "o": "GNU/Linux"}
    asked = "snrvmo" if options.has("a") else [letter for letter in parts if options.has(letter)]
    if options.has("p", "i") and not asked:
        return Result("unknown\n")
    return Result(" ".join(parts[letter] for letter in asked or "s") + "\n")


def uptime(call: Invocation) -> Result:
    """Print the time, since when the machine runs, and its load."""
    up = int(call.now - booted(call))
    days, rest = divmod(up, 86_400)
    hours, minutes = divmod(rest // 60, 60)
    now = local(call.now, call.environment).strftime("%H:%M:%S")
    if "-s" in call.arguments:
        return Result(local(booted(call), call.environment).strftime("%Y-%m-%d %H:%M:%S\n"))
    load = (
        float(
            call.read(
                "select coalesce(sum(cpu), 0) as n from processes where host = :host", {"host": call.machine.name}
            )[0]["n"]
        )
        / 100
    )
    long = f"{days} day{'s' if days != 1 else ''}, " if days else ""
    since = f"{hours:2}:{minutes:02}" if hours else f"{minutes} min"
    return Result(f" {now} up {long}{since},  1 user,  load average: {load:.2f}, {load:.2f}, {load:.2f}\n")


def booted(call: Invocation) -> float:
    """Return the Unix time at which the machine was started."""
    return boot_of(call.machine)


def boot_of(machine: Machine) -> float:
    """Return the Unix time at which a machine was started: when its first process was."""
    rows = machine.records.read("select started from processes where host = :host and pid = 1", {"host": machine.name})
    return datetime.fromisoformat(rows[0]["started"]).timestamp() if rows else machine.moment - UP


def memory_of(machine: Machine) -> tuple[int, int]:
    """Return the KiB of memory that are used, and those that are kept for files."""
    sql = "select coalesce(sum(memory), 0) as n from processes where host = :host"
    used = min(MEMORY - 100_000, 210_000 + int(machine.records.read(sql, {"host": machine.name})[0]["n"]))
    return used, min(800_000, (MEMORY - used) // 2)


def nproc(call: Invocation) -> Result:
    """Print the number of cores."""
    return Result(f"{CORES}\n")


def arch(call: Invocation) -> Result:
    """Print the architecture."""
    return Result("x86_64\n")


def free(call: Invocation) -> Result:
    """Print memory and what processes hold of it."""
    used, cached = memory_of(call.machine)
    options = parsed(call, "bkmghtw", {"human": "h", "bytes": "b", "kibi": "k", "mebi": "m", "gibi": "g", "total": "t"})
    if isinstance(options, Result):
        return options

    def shown(amount: int) -> str:
        if options.has("h"):
            return human(amount * 1024, 1024) + ("i" if amount else "B")
        scale = next((scale for letter, scale in _SCALES.items() if options.has(letter)), 1.0)
        return str(int(amount * scale))

    columns = ["total", "used", "free", "shared", "buff/cache", "available"]
    cells = [MEMORY, used, MEMORY - used - cached, 1_200, cached, MEMORY - used - cached // 4]
    lines = [" " * 7 + "".join(f"{name:>12}" for name in columns)]
    lines.append("Mem:   " + "".join(f"{shown(cell):>12}" for cell in cells))
    lines.append("Swap:  " + "".join(f"{shown(0):>12}" for _ in range(3)))
    return Result("".join(f"{line}\n" for line in lines))
