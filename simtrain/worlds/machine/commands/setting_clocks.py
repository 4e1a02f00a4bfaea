"""timedatectl and hwclock: the clock of the machine, which may be wrong, and what sets it right."""

from datetime import UTC, datetime

from simtrain.worlds.machine.commands.date_words import NoDate, moment_of
from simtrain.worlds.machine.commands.options import parsed
from simtrain.worlds.machine.commands.zones import zone_named
from simtrain.worlds.machine.invocation import Invocation, Result

_SET = "update clocks set ahead = :ahead, synchronized = :synchronized where host = :host"
_AUTHENTICATION = "Interactive authentication required."


def set_clock(call: Invocation, ahead: float, *, synchronized: bool) -> None:
    """Let the machine's clock be wrong by so many whole seconds; 0 is right."""
    call.machine.ahead = float(round(ahead))
    values = {"ahead": round(ahead), "synchronized": int(synchronized), "host": call.machine.name}
    call.write(_SET, values)


def _synchronized(call: Invocation) -> bool:
    rows = call.read("select synchronized from clocks where host = :host", {"host": call.machine.name})
    return bool(rows and rows[0]["synchronized"])


def timedatectl(call: Invocation) -> Result:
    """Show the clock, let it follow the network (set-ntp true), or set it (set-time)."""
    words = [word for word in call.arguments if not word.startswith("-")]
    action, values = (words[0], words[1:]) if words else ("status", [])
    if action == "status":
        return Result(_status(call))
    if action == "show":
        shown = "yes" if _synchronized(call) else "no"
        return Result(f"Timezone=Etc/UTC\nLocalRTC=no\nCanNTP=yes\nNTP={shown}\nNTPSynchronized={shown}\n")
    if action == "list-timezones":
        return Result("UTC\n")
    if action not in ("set-ntp", "set-time"):
        return Result(stderr=f"Unknown command verb {action}.\n", exit_code=1)
    if not values:
        return Result(stderr="Too few arguments.\n", exit_code=1)
    verb = "ntp" if action == "set-ntp" else "time"
    if call.user.uid != 0:
        return Result(stderr=f"Failed to set {verb}: {_AUTHENTICATION}\n", exit_code=1)
    if action == "set-ntp":
        return _set_ntp(call, values[0])
    if _synchronized(call):
        return Result(stderr="Failed to set time: Automatic time synchronization is enabled\n", exit_code=1)
    try:
        moment = moment_of(" ".join(values), now=call.now, zone=zone_named(call.environment.get("TZ")))
    except (NoDate, ValueError, OverflowError):
        return Result(
            stderr=f"Failed to parse time specification '{' '.join(values)}': Invalid argument\n", exit_code=1
        )
    set_clock(call, moment - call.moment, synchronized=False)
    return Result()


def _set_ntp(call: Invocation, value: str) -> Result:
    if value in ("true", "yes", "1", "on"):
        set_clock(call, 0, synchronized=True)
    elif value in ("false", "no", "0", "off"):
        set_clock(call, call.machine.ahead, synchronized=False)
    else:
        return Result(stderr=f"Failed to parse NTP setting '{value}': Invalid argument\n", exit_code=1)
    return Result()


def _status(call: Invocation) -> str:
    synchronized = _synchronized(call)
    now, rtc = datetime.fromtimestamp(call.now, UTC), datetime.fromtimestamp(call.moment, UTC)
    rows = (
        ("Local time", f"{now:%a %Y-%m-%d %H:%M:%S} UTC"),
        ("Universal time", f"{now:%a %Y-%m-%d %H:%M:%S} UTC"),
        ("RTC time", f"{rtc:%a %Y-%m-%d %H:%M:%S}"),
        ("Time zone", "Etc/UTC (UTC, +0000)"),
        ("System clock synchronized", "yes" if synchronized else "no"),
        ("NTP service", "active" if synchronized else "inactive"),
        ("RTC in local TZ", "no"),
    )
    return "".join(f"{name:>25}: {value}\n" for name, value in rows)


def hwclock(call: Invocation) -> Result:
    """Show the hardware clock, which is right, or set the system's clock by it (--hctosys)."""
    options = parsed(call, "rswuv", {"show": "r", "hctosys": "s", "systohc": "w", "utc": "u", "verbose": "v"})
    if isinstance(options, Result):
        return options
    if call.user.uid != 0:
        return Result(
            stderr="hwclock: Cannot access the Hardware Clock via any known method.\n"
            "hwclock: Use the --verbose option to see the details of our search for an access method.\n",
            exit_code=1,
        )
    if options.has("w"):
        return call.fail("ioctl(RTC_SET_TIME) to /dev/rtc0 to set the time failed: Permission denied")
    if options.has("s"):
        set_clock(call, 0, synchronized=_synchronized(call))
        return Result()
    moment = datetime.fromtimestamp(call.moment, UTC)
    return Result(f"{moment:%Y-%m-%d %H:%M:%S.%f}+00:00\n")
