"""journalctl: the journal of the machine, as rows of the table `journal`."""

from simtrain.values.clock import instant, stamp
from simtrain.worlds.machine.commands.options import parsed
from simtrain.worlds.machine.commands.zones import local
from simtrain.worlds.machine.invocation import Invocation, Result


def note(call: Invocation, unit: str, message: str, *, pid: int = 1) -> None:
    """Write a line into the journal."""
    sql = "insert into journal (host, moment, unit, pid, message) values (:host, :now, :unit, :pid, :message)"
    call.write(sql, {"host": call.machine.name, "now": stamp(call.now), "unit": unit, "pid": pid, "message": message})


def plain_unit(name: str) -> str:
    """Return the name of a unit without `.service`."""
    return name.removesuffix(".service")


def journal_lines(call: Invocation, unit: str | None, since: float | None = None) -> list[str]:
    """Return the lines of the journal, of one unit or of all, since a Unix time."""
    sql = "select * from journal where host = :host and (:unit is null or unit = :unit) order by moment, rowid"
    lines: list[str] = []
    for row in call.read(sql, {"host": call.machine.name, "unit": unit}):
        if since is not None and instant(row["moment"]) < since:
            continue
        moment = local(instant(row["moment"]), call.environment)
        source = "systemd" if row["pid"] in (None, 1) else row["unit"]
        lines.append(f"{moment:%b %d %H:%M:%S} {call.machine.name} {source}[{row['pid'] or 1}]: {row['message']}")
    return lines


def journalctl(call: Invocation) -> Result:
    """Print the journal: of a unit (-u), the last lines (-n), the newest first (-r), or since a time."""
    long = {"unit=": "u", "lines=": "n", "reverse": "r", "no-pager": "no-pager", "since=": "S", "until=": "U", "follow": "f", "grep=": "g",
            "pager-end": "e", "catalog": "x", "boot=?": "b", "output=": "o", "priority=": "p", "quiet": "q"}  # fmt: skip
    options = parsed(call, "u:n:rS:U:feg:xb::o:p:kq", long)
    if isinstance(options, Result):
        return options
    from simtrain.worlds.machine.commands.date_words import NoDate, moment_of
    from simtrain.worlds.machine.commands.zones import zone_named

    since = None
    if options.has("S"):
        try:
            since = moment_of(options.value("S") or "", now=call.now, zone=zone_named(call.environment.get("TZ")))
        except NoDate:
            return Result(stderr=f"Failed to parse timestamp: {options.value('S')}\n", exit_code=1)
    unit = options.value("u")
    lines = journal_lines(call, plain_unit(unit) if unit else None, since)
    if options.has("g"):
        lines = [line for line in lines if (options.value("g") or "") in line]
    count = options.value("n")
    if count is not None:
        lines = lines[-int(count) :] if count.isdigit() and int(count) else []
    if options.has("r"):
        lines.reverse()
    return Result("".join(f"{line}\n" for line in lines) or "-- No entries --\n")
