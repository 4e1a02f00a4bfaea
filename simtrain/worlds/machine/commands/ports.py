"""ss, netstat, lsof and fuser: which process listens on which port.

The layouts are those of iproute2 6.1, net-tools 2.10, lsof 4.95 and psmisc 23.6. All sockets of a machine are of TCP, and listen.
"""

import re
from dataclasses import replace

from simtrain.worlds.machine.commands.kill import number_of, signal
from simtrain.worlds.machine.commands.options import Options, parsed
from simtrain.worlds.machine.commands.process_table import Process, processes
from simtrain.worlds.machine.invocation import Invocation, Result

_BACKLOG, _DESCRIPTOR, _INODE = 128, 3, 18_000
"""What no table tells: the length of a queue, the number of a descriptor, and the inode of the first process's socket."""
NAMES = {
    21: "ftp", 22: "ssh", 25: "smtp", 53: "domain", 80: "http", 110: "pop3", 143: "imap2", 389: "ldap", 443: "https", 636: "ldaps",
    873: "rsync", 993: "imaps", 1883: "mqtt", 3306: "mysql", 5432: "postgresql", 5672: "amqp", 6379: "redis", 8080: "http-alt",
    9418: "git",
}  # fmt: skip
"""Names of ports in the /etc/services of Debian."""
_PORT = re.compile(r"(?:src|sport)\s*(?:=|==|eq)?\s*:?(\w+)")
_ASIDE = (
    "(Not all processes could be identified, non-owned process info\n"
    " will not be shown, you would have to be root to see it all.)\n"
)


def _listening(call: Invocation) -> list[tuple[int, Process]]:
    found = [(one.port, one) for one in processes(call) if one.port is not None]
    return sorted(found, key=lambda pair: (pair[0], pair[1].pid))


def _is_seen(call: Invocation, process: Process) -> bool:
    return call.user.uid == 0 or process.user == call.user.name


def _named(port: int, *, numeric: bool) -> str:
    return str(port) if numeric else NAMES.get(port, str(port))


def _number(word: str) -> int | None:
    if word.isdigit():
        return int(word)
    return next((port for port, name in NAMES.items() if name == word), None)


def ss(call: Invocation) -> Result:
    """Print the sockets that listen, if those are asked for."""
    long = {"listening": "l", "tcp": "t", "udp": "u", "numeric": "n", "processes": "p", "all": "a", "no-header": "H",
            "ipv4": "4", "ipv6": "6", "unix": "x", "extended": "e", "summary": "s"}  # fmt: skip
    options = parsed(call, "ltunpaHx46eiosmr", long, code=255, hint="")
    if isinstance(options, Result):
        return options
    filtered = " ".join(options.operands)
    wanted = _PORT.fullmatch(filtered.strip("() "))
    port = _number(wanted[1]) if wanted else None
    if filtered and port is None:
        return Result(stderr='ss: bison bellows (while parsing filter): "syntax error!" Sorry.\n', exit_code=255)
    netid = options.has("u", "x") or not options.has("t")
    rows = [
        [
            *(["tcp"] if netid else []),
            "LISTEN",
            "0",
            str(_BACKLOG),
            "0.0.0.0:",
            _named(number, numeric=options.has("n")),
            "0.0.0.0:",
            "*",
            f' users:(("{process.name}",pid={process.pid},fd={_DESCRIPTOR}))'
            if options.has("p") and _is_seen(call, process)
            else "",
        ]
        for number, process in (_listening(call) if _asks_for_tcp(options) else ())
        if port is None or number == port
    ]
    titles = [
        *(["Netid"] if netid else []),
        "State",
        "Recv-Q",
        "Send-Q",
        "Local Address:",
        "Port",
        "Peer Address:",
        "Port",
        "Process",
    ]
    shown = rows if options.has("H") else [titles, *rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return Result("".join(_ss_line(row, widths, last=len(rows) > 1) for row in shown))


def _asks_for_tcp(options: Options) -> bool:
    return options.has("l", "a") and (options.has("t") or not options.has("u", "x")) and not options.has("6")


def _ss_line(row: list[str], widths: list[int], *, last: bool) -> str:
    """Return a line: addresses to the right, everything else to the left. The last column is filled up if `last`."""
    at = len(row) - 5
    cells = [
        cell.rjust(width) if place in (at, at + 2) else cell.ljust(width)
        for place, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    before = " ".join(cells[:at])
    process = cells[-1] if last else row[-1]
    return f"{before} {cells[at]}{cells[at + 1]} {cells[at + 2]}{cells[at + 3]}{process}\n"


def netstat(call: Invocation) -> Result:
    """Print the sockets that listen, if those are asked for."""
    long = {
        "listening": "l",
        "tcp": "t",
        "udp": "u",
        "numeric": "n",
        "programs": "p",
        "all": "a",
        "program": "p",
        "unix": "x",
    }
    options = parsed(call, "ltunpaxeW46", long, hint="usage: netstat [-vWnNcaeol] [<Socket> ...]")
    if isinstance(options, Result):
        return options
    which = "only servers" if options.has("l") else "servers and established" if options.has("a") else "w/o servers"
    programs = options.has("p")
    text = f"Active Internet connections ({which})\n"
    text += "Proto Recv-Q Send-Q Local Address           Foreign Address         State      "
    text += " PID/Program name    \n" if programs else "\n"
    hidden = False
    for port, process in _listening(call) if _asks_for_tcp(options) else ():
        local, seen = f"0.0.0.0:{_named(port, numeric=options.has('n'))}", _is_seen(call, process)
        hidden = hidden or not seen
        program = f" {f'{process.pid}/{process.name}' if seen else '-':<20}" if programs else ""
        text += f"tcp        0      0 {local:<23} {'0.0.0.0:*':<23} LISTEN     {program}\n"
    return Result(text, stderr=_ASIDE if programs and hidden else "")


def lsof(call: Invocation) -> Result:
    """Print who listens (`-i`), on one port or on all. No process has a file open."""
    words = list(call.arguments)
    for place, word in enumerate(words):
        # The value may be left out.
        if re.fullmatch(r"-[nPta]*i", word) and not re.match(r"(?i)tcp|udp|[:@46]", (words[place + 1 :] or [""])[0]):
            words[place] = f"{word}tcp"
    options = parsed(replace(call, arguments=tuple(words)), "i:nPts:ap:u:c:", hint="")
    if isinstance(options, Result):
        return options
    if options.operands:
        gone = [path for path in options.operands if not call.files.exists(call.path(path))]
        errors = "".join(f"lsof: status error on {path}: No such file or directory\n" for path in gone)
        return Result(stderr=errors, exit_code=1)
    asked = options.values("i")
    if not asked:
        return call.fail("only sockets are listed here: lsof -i [tcp][:PORT]")
    found = list[tuple[int, Process]]()
    for address in asked:
        protocol, _, port = address.rpartition(":") if ":" in address else (address, "", "")
        number = _number(port) if port else None
        if port and number is None:
            return Result(stderr=f"lsof: unknown service {port} in: -i {address}\n", exit_code=1)
        if protocol.lower() in ("", "tcp", "4", "4tcp", "tcp@localhost", "@localhost"):
            found += [pair for pair in _listening(call) if number in (None, pair[0]) and _is_seen(call, pair[1])]
    found = [pair for pair in found if not options.values("p") or str(pair[1].pid) in options.values("p")]
    found.sort(key=lambda pair: pair[1].pid)
    if not found:
        return Result(exit_code=1)
    if options.has("t"):
        return Result("".join(f"{pid}\n" for pid in dict.fromkeys(process.pid for _, process in found)))
    rows = [["COMMAND", "PID", "USER", "FD", " ", "TYPE", "DEVICE", "SIZE/OFF", "NODE", "NAME"]]
    for port, one in found:
        name = f"*:{_named(port, numeric=options.has('P'))} (LISTEN)"
        # A column of FD for the number, and one for the letter of the access.
        cells = [
            one.name[:9],
            str(one.pid),
            one.user,
            str(_DESCRIPTOR),
            "u",
            "IPv4",
            str(_INODE + one.pid),
            "0t0",
            "TCP",
            name,
        ]
        rows.append(cells)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    widths[3] = 4
    return Result("".join(_lsof_line(row, widths) for row in rows))


def _lsof_line(row: list[str], widths: list[int]) -> str:
    command, *rest = row[:-1]
    cells = [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=False)]
    pid, user, number, access, *others = cells
    return f"{command.ljust(widths[0])} {pid} {user} {number}{access}  {' '.join(others)} {row[-1]}\n"


def fuser(call: Invocation) -> Result:
    """Print who listens on ports (`PORT/tcp`), and with `-k` send them a signal, by default KILL."""
    words, sent = list[str](), 9
    for word in call.arguments:
        number = number_of(word[1:]) if re.fullmatch(r"-(?:SIG)?[A-Z0-9]+", word) else None
        if number is None:
            words.append(word)
        else:
            sent = number
    options = parsed(replace(call, arguments=tuple(words)), "kvsn:", {"kill": "k"}, hint="")
    if isinstance(options, Result):
        return options
    output, everywhere = "", bool(options.operands)
    for word in options.operands:
        port, _, space = word.partition("/")
        asked = _number(port) if "tcp" in (space, options.value("n")) else None
        holders = [one for found, one in _listening(call) if found == asked and _is_seen(call, one)]
        everywhere = everywhere and bool(holders)
        output += "".join(f"{one.pid:>6}" for one in holders)
        for one in holders if options.has("k") else ():
            signal(call, one, sent)
    # What psmisc writes to stderr before the numbers would come after them here; the end of the line is there as well.
    return Result(output, "\n" if output else "", 0 if everywhere else 1)
