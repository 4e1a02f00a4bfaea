"""ps: lists processes as procps does."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from simtrain.worlds.machine.commands.options import parsed
from simtrain.worlds.machine.commands.process_table import Process, with_own
from simtrain.worlds.machine.commands.zones import local
from simtrain.worlds.machine.invocation import Invocation, Result

_HELP = (
    "\nUsage:\n ps [options]\n\n Try 'ps --help <simple|list|output|threads|misc|all>'\n"
    "  or 'ps --help <s|l|o|t|m|a>'\n for additional help text.\n\nFor more details see ps(1).\n"
)
_LONG = {"sort=": "sort", "no-headers": "no-headers", "no-heading": "no-headers", "pid=": "p", "ppid=": "ppid", "user=": "u",
         "forest": "forest", "format=": "o", "headers": "headers"}  # fmt: skip


def _clock(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"


def _short_clock(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 60}:{whole % 60:02}"


class _Columns:
    """What a column shows of a process: heading, width (negative: to the left), and text."""

    def __init__(self, call: Invocation) -> None:
        self._call = call

        def number(name: str) -> int:
            return call.machine.users[name].uid if name in call.machine.users else 65534

        self.known: dict[str, tuple[str, int, Callable[[Process], str]]] = {
            "pid": ("PID", 7, lambda one: str(one.pid)), "ppid": ("PPID", 7, lambda one: str(one.parent)),
            "user": ("USER", -8, lambda one: one.user), "euser": ("EUSER", -8, lambda one: one.user),
            "uid": ("UID", 5, lambda one: str(number(one.user))), "%cpu": ("%CPU", 4, lambda one: f"{one.cpu:.1f}"),
            "%mem": ("%MEM", 4, lambda one: f"{one.share:.1f}"), "vsz": ("VSZ", 6, lambda one: str(one.memory * 3)),
            "rss": ("RSS", 5, lambda one: str(one.memory)), "tty": ("TT", -8, lambda one: one.terminal),
            "stat": ("STAT", -4, self.state), "s": ("S", 1, lambda one: one.state[0]),
            "start": ("STARTED", 8, self.start), "lstart": ("STARTED", 24, self._long_start),
            "etime": ("ELAPSED", 11, self._elapsed), "etimes": ("ELAPSED", 7, lambda one: str(int(call.now - one.started))),
            "time": ("TIME", 8, lambda one: _clock(one.seconds(call.now))),
            "bsdtime": ("TIME", 6, lambda one: _short_clock(one.seconds(call.now))), "bsdstart": ("START", 6, self.start),
            "comm": ("COMMAND", -15, lambda one: one.name),
            "args": ("COMMAND", -27, lambda one: one.command), "ni": ("NI", 3, lambda _: "0"),
            "pri": ("PRI", 3, lambda _: "19"), "pgid": ("PGID", 7, lambda one: str(one.pid)),
            "nlwp": ("NLWP", 4, lambda _: "1"), "group": ("GROUP", -8, lambda one: one.user),
        }  # fmt: skip
        aliases = {"pcpu": "%cpu", "pmem": "%mem", "cmd": "args", "command": "args", "ucmd": "comm", "state": "s", "tt": "tty",
                   "rsz": "rss", "vsize": "vsz", "nice": "ni", "stime": "start", "cputime": "time", "tname": "tty"}  # fmt: skip
        headings = {"cmd": "CMD", "tname": "TTY", "stime": "STIME"}
        for name, target in aliases.items():
            heading, width, text = self.known[target]
            self.known[name] = (headings.get(name, heading), width, text)

    def state(self, one: Process) -> str:
        return one.state if len(one.state) > 1 or one.service is None else f"{one.state}s"

    def start(self, one: Process) -> str:
        moment = local(one.started, self._call.environment)
        today: datetime = local(self._call.now, self._call.environment)
        return (
            f"{moment:%H:%M}"
            if today.date() == moment.date() or self._call.now - one.started < 86_400
            else f"{moment:%b%d}"
        )

    def _long_start(self, one: Process) -> str:
        moment = local(one.started, self._call.environment)
        return f"{moment:%a %b} {moment.day:2} {moment:%H:%M:%S %Y}"

    def _elapsed(self, one: Process) -> str:
        whole = int(self._call.now - one.started)
        days, rest = divmod(whole, 86_400)
        text = f"{rest // 60 % 60:02}:{rest % 60:02}"
        if days or rest >= 3600:
            text = f"{rest // 3600:02}:{text}"
        return f"{days}-{text}" if days else text


def ps(call: Invocation) -> Result:
    """List processes: those of the terminal, or as `aux`, `-ef`, -p, -u, -C and -o say."""
    words = [f"-{word}" if word.isalpha() and set(word) <= set("auxefowlj") else word for word in call.arguments]
    bsd = any(word.isalpha() and "-" not in word for word in call.arguments)
    options = parsed(replace(call, arguments=tuple(words)), "AaefFlxwjcu::p:C:o:t:HLTN", _LONG, hint=_HELP)
    if bsd:
        options = parsed(replace(call, arguments=tuple(words)), "AaefFlxwjcup:C:o:t:HLTN", _LONG, hint=_HELP)
    if isinstance(options, Result):
        return Result(
            stderr=options.stderr.replace("ps: invalid", "error: unsupported option").replace("ps: ", "error: "),
            exit_code=1,
        )
    columns = _Columns(call)
    found = with_own(call)
    shell = [one for one in found if one.terminal != "?" and one.user == call.user.name]
    users = [name for value in options.values("u") for name in value.split(",") if name]
    pids = [number for value in [*options.values("p"), *options.operands] for number in value.replace(",", " ").split()]
    if pids and not all(number.isdigit() for number in pids):
        return Result(stderr=f"error: process ID list syntax error\n{_HELP}", exit_code=1)
    names = [name for value in options.values("C") for name in value.split(",")]
    ids = {str(user.uid): name for name, user in call.machine.users.items()}
    if pids or names or users or options.has("ppid"):
        parents = (options.value("ppid") or "").split(",")
        found = [
            one
            for one in found
            if str(one.pid) in pids
            or one.name in names
            or one.user in [ids.get(name, name) for name in users]
            or str(one.parent) in parents
        ]
    elif not (options.has("A", "e") or (bsd and options.has("x") and options.has("a")) or (bsd and options.has("x"))):
        found = shell if not options.has("a") else [one for one in shell if one.pid != call.machine.shell]
    elif bsd and not options.has("a"):
        found = [one for one in found if one.user == call.user.name]
    chosen, headed = _chosen(
        columns, options.values("o"), full=options.has("f"), wide=bsd and options.has("u"), bsd=bsd
    )
    if isinstance(chosen, Result):
        return chosen
    for key in reversed((options.value("sort") or "").split(",") if options.has("sort") else []):
        plain = key.lstrip("+-")
        if plain not in columns.known:
            return Result(stderr=f"error: unknown sort specifier\n{_HELP}", exit_code=1)
        found.sort(key=lambda one, plain=plain: _order(columns, plain, one), reverse=key.startswith("-"))
    lines = [] if options.has("no-headers") or not headed else [[heading for _, heading, _ in chosen]]
    lines += [[columns.known[name][2](one) for name, _, _ in chosen] for one in found]
    text = "".join(_row(line, [width for _, _, width in chosen], lines) for line in lines)
    return Result(text, "", 0 if found else 1)


def _order(columns: _Columns, name: str, one: Process) -> float | str:
    text = columns.known[name][2](one)
    try:
        return float(text)
    except ValueError:
        return text


def _row(cells: list[str], widths: list[int], lines: list[list[str]]) -> str:
    parts: list[str] = []
    for place, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        wide = max(abs(width), *(len(line[place]) for line in lines)) if place < len(cells) - 1 else abs(width)
        parts.append(cell.ljust(wide) if width < 0 else cell.rjust(wide))
    return " ".join(parts).rstrip() + "\n"


def _chosen(
    columns: _Columns, formats: list[str], *, full: bool, wide: bool, bsd: bool
) -> tuple[list[tuple[str, str, int]] | Result, bool]:
    """Return the columns: name, heading and width; and whether there is a line of headings."""
    if formats:
        found: list[tuple[str, str, int]] = []
        for word in (one for text in formats for one in text.replace(" ", ",").split(",") if one):
            name, equals, heading = word.partition("=")
            if name.lower() not in columns.known:
                refusal = Result(stderr=f'error: unknown user-defined format specifier "{name}"\n{_HELP}', exit_code=1)
                return refusal, True
            own, width, _ = columns.known[name.lower()]
            found.append((name.lower(), heading if equals else own, width))
        return found, any(heading for _, heading, _ in found)
    if wide:
        names = [("user", "USER", -8), ("pid", "PID", 7), ("%cpu", "%CPU", 4), ("%mem", "%MEM", 4), ("vsz", "VSZ", 6), ("rss", "RSS", 5),
                 ("tty", "TTY", -8), ("stat", "STAT", -4), ("start", "START", 5), ("bsdtime", "TIME", 6),
                 ("args", "COMMAND", -1)]  # fmt: skip
        return names, True
    if full:
        return [("user", "UID", -8), ("pid", "PID", 7), ("ppid", "PPID", 7), ("ni", "C", 2), ("start", "STIME", 5), ("tty", "TTY", -8),
                ("time", "TIME", 8), ("args", "CMD", -1)], True  # fmt: skip
    if bsd:
        return [
            ("pid", "PID", 7),
            ("tty", "TTY", -8),
            ("stat", "STAT", -4),
            ("bsdtime", "TIME", 6),
            ("args", "COMMAND", -1),
        ], True
    return [("pid", "PID", 7), ("tty", "TTY", -8), ("time", "TIME", 8), ("comm", "CMD", -1)], True
