"""top: processes by the CPU that they take, in batch mode."""

from collections.abc import Callable
from dataclasses import replace

from simtrain.worlds.machine.commands.about import MEMORY, uptime
from simtrain.worlds.machine.commands.options import parsed
from simtrain.worlds.machine.commands.process_table import Process, with_own
from simtrain.worlds.machine.invocation import Invocation, Result

_ORDERS: dict[str, Callable[[Process], float | str]] = {
    "%CPU": lambda one: one.cpu,
    "%MEM": lambda one: one.memory,
    "RES": lambda one: one.memory,
    "PID": lambda one: one.pid,
    "TIME+": lambda one: one.cpu,
    "USER": lambda one: one.user,
    "COMMAND": lambda one: one.name,
}


def top(call: Invocation) -> Result:
    """Print what top shows, once for each of -n iterations; -b must be given where there is no terminal."""
    options = parsed(
        call, "bn:d:o:p:u:cHisSw::1", {"batch": "b", "iterations=": "n", "delay=": "d", "sort-override=": "o"}
    )
    if isinstance(options, Result):
        return options
    if not options.has("b"):
        return Result(stderr="top: failed tty get\n", exit_code=1)
    count = options.value("n") or "1"
    if not count.isdigit() or int(count) == 0:
        return Result(stderr=f"top: bad iterations argument '{count}'\n", exit_code=1)
    order = (options.value("o") or "%CPU").lstrip("+-")
    if order not in _ORDERS:
        return Result(stderr=f"top: unrecognized field name '{order}'\n", exit_code=1)
    blocks: list[str] = []
    for number in range(min(int(count), 100)):
        if number:
            call.sleep(float(options.value("d") or 3.0))
        found = with_own(call)
        shown = found
        if options.has("p"):
            pids = [pid for value in options.values("p") for pid in value.split(",")]
            shown = [one for one in shown if str(one.pid) in pids]
        if options.has("u"):
            shown = [one for one in shown if one.user == options.value("u")]
        shown = sorted(shown, key=lambda one: one.pid)
        shown.sort(key=_ORDERS[order], reverse=order not in ("PID", "USER", "COMMAND"))
        blocks.append(_block(call, found, shown, full=options.has("c")))
    return Result("\n".join(blocks))


def _block(call: Invocation, found: list[Process], shown: list[Process], *, full: bool) -> str:
    head = uptime(replace(call, arguments=())).stdout.strip()
    running = sum(one.state.startswith("R") for one in found)
    stopped, zombies = (sum(one.state.startswith(letter) for one in found) for letter in "TZ")
    busy = min(200.0, sum(one.cpu for one in found)) / 2
    used = min(MEMORY - 100_000, 210_000 + sum(one.memory for one in found if one.terminal == "?"))
    cached = min(800_000, (MEMORY - used) // 2)
    lines = [
        f"top - {head}",
        f"Tasks: {len(found):3} total, {running:3} running, {len(found) - running - stopped - zombies:3} "
        f"sleeping, {stopped:3} stopped, {zombies:3} zombie",
        f"%Cpu(s): {busy:4.1f} us,  0.0 sy,  0.0 ni, {100 - busy:4.1f} id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st ",
        f"MiB Mem : {MEMORY / 1024:8.1f} total, {(MEMORY - used - cached) / 1024:8.1f} free, "
        f"{used / 1024:8.1f} used, {cached / 1024:8.1f} buff/cache     ",
        f"MiB Swap: {0.0:8.1f} total, {0.0:8.1f} free, {0.0:8.1f} used. {(MEMORY - used - cached // 4) / 1024:8.1f} avail Mem ",
        "",
        "    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND",
    ]
    for one in shown:
        seconds = one.seconds(call.now)
        time = f"{int(seconds) // 60}:{int(seconds) % 60:02}.{int(seconds * 100) % 100:02}"
        lines.append(
            f"{one.pid:7} {one.user[:8]:<8}  20   0 {one.memory * 3:7} {one.memory:6} {one.memory * 3 // 5:6} {one.state[0]} "
            f"{one.cpu:5.1f} {one.share:5.1f} {time:>9} {one.command if full else one.name}"
        )
    return "\n".join(lines) + "\n"
