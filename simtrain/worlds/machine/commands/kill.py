"""kill, pkill, pgrep and killall: signals to processes, and finding them by name."""

import re
from collections.abc import Sequence
from dataclasses import replace

from simtrain.worlds.machine.commands.jobs import found_job
from simtrain.worlds.machine.commands.options import parsed
from simtrain.worlds.machine.commands.process_table import Process, end, processes
from simtrain.worlds.machine.expressions import ExpressionProblem, expression
from simtrain.worlds.machine.invocation import Invocation, Result

SIGNALS = (
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM", "STKFLT",
    "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
)  # fmt: skip
_HARMLESS = {"CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "WINCH"}
_GENTLE = {"TERM", "INT", "QUIT", "HUP"}
_USAGE = "kill: usage: kill [-s sigspec | -n signum | -sigspec] pid | jobspec ... or kill -l [sigspec]\n"


def number_of(text: str) -> int | None:
    """Return the number of a signal from its number or name; None for no signal."""
    plain = text.upper().removeprefix("SIG")
    if plain.isdigit():
        return int(plain) if int(plain) < 65 else None
    return SIGNALS.index(plain) + 1 if plain in SIGNALS else 0 if plain == "EXIT" else None


def kill(call: Invocation) -> Result:
    """Send a signal, by default TERM, to processes by their numbers."""
    words, signal = list(call.arguments), "TERM"
    if not words:
        return Result(stderr=_USAGE, exit_code=2)
    if words[0] in ("-l", "-L"):
        return _listed(words[1:])
    if words[0] in ("-s", "-n"):
        if len(words) < 2:
            return Result(stderr=f"bash: line 1: kill: {words[0]}: option requires an argument\n", exit_code=1)
        signal, words = words[1], words[2:]
    elif words[0].startswith("-") and words[0] not in ("-", "--"):
        signal, words = words[0][1:], words[1:]
    if words[:1] == ["--"]:
        words = words[1:]
    number = number_of(signal)
    if number is None:
        return Result(stderr=f"bash: line 1: kill: {signal}: invalid signal specification\n", exit_code=1)
    if not words:
        return Result(stderr=_USAGE, exit_code=2)
    known, errors, fine = {one.pid: one for one in processes(call)}, "", False
    for word in words:
        problem = _sent(call, word, number, known)
        errors += f"bash: line 1: kill: {problem}\n" if problem else ""
        fine = fine or not problem
    return Result(stderr=errors, exit_code=0 if fine else 1)


def _sent(call: Invocation, word: str, number: int, known: dict[int, Process]) -> str | None:
    """Send a signal, and return what went wrong."""
    job = found_job(call, word)
    if job is not None and job.running(call.moment):
        if number and SIGNALS[(number - 1) % len(SIGNALS)] not in _HARMLESS:
            call.machine.jobs.kill(call.machine, job, number)
        return None
    if word.startswith("%"):
        return f"{word}: no such job"
    if not re.fullmatch(r"-?\d+", word):
        return f"{word}: arguments must be process or job IDs"
    if number == 0 and word == "1":
        # The shell calls itself 1, so this asks whether it lives.
        return None
    if abs(int(word)) == call.machine.shell:
        # A shell at a terminal heeds no TERM; that it could be killed, and the session end, is left out.
        return None
    process = known.get(abs(int(word)))
    if process is None:
        return f"({word}) - No such process"
    if number == 0 and (process.pid == 1 or call.user.uid == 0 or process.user == call.user.name):
        return None
    if call.user.uid != 0 and process.user != call.user.name:
        return f"({word}) - Operation not permitted"
    signal(call, process, number)
    return None


def signal(call: Invocation, process: Process, number: int) -> None:
    """Let a signal take effect: most end a process. systemd heeds none, and a service reloads at HUP."""
    name = SIGNALS[number - 1] if 0 < number <= len(SIGNALS) else "RT"
    if process.pid == 1 or name in _HARMLESS or (name == "HUP" and process.service):
        return
    end(call, process, service_state="inactive" if name in _GENTLE else "failed")


def _listed(words: Sequence[str]) -> Result:
    if not words:
        cells = [f"{number:2}) SIG{name}" for number, name in enumerate(SIGNALS, 1)]
        return Result("".join("\t".join(cells[at : at + 5]) + "\n" for at in range(0, len(cells), 5)))
    output = ""
    for word in words:
        number = number_of(word)
        if number is None:
            return Result(output, f"bash: line 1: kill: {word}: invalid signal specification\n", 1)
        output += f"{SIGNALS[(number & 127) - 1]}\n" if word.isdigit() else f"{number}\n"
    return Result(output)


_LONG = {"full": "f", "exact": "x", "list-name": "l", "list-full": "a", "count": "c", "newest": "n", "oldest": "o", "uid=": "u",
         "euid=": "u", "signal=": "s", "ignore-case": "i", "inverse": "v", "parent=": "P", "delimiter=": "d", "echo": "e"}  # fmt: skip


def pgrep(call: Invocation) -> Result:
    """Print the numbers of processes by name (pgrep), or send them a signal (pkill)."""
    words, given = list(call.arguments), "TERM"
    if call.name == "pkill" and words and re.fullmatch(r"-(\d+|(SIG)?[A-Z]+[12]?)", words[0]):
        given = words.pop(0)[1:]
    options = parsed(replace(call, arguments=tuple(words)), "fxlacnou:s:ivP:d:e", _LONG, code=2)
    if isinstance(options, Result):
        return options
    given = options.value("s") or given
    if not options.operands and not options.has("u", "P"):
        why = "no matching criteria specified"
        return Result(stderr=f"{call.name}: {why}\nTry `{call.name} --help' for more information.\n", exit_code=2)
    try:
        wanted = expression("".join(options.operands[:1]), syntax="extended", ignore_case=options.has("i"))
    except ExpressionProblem as problem:
        return Result(stderr=f"{call.name}: regex error: {problem}\n", exit_code=2)

    def fits(one: Process) -> bool:
        text = one.command if options.has("f") else one.name
        return (wanted.fits(text) if options.has("x") else wanted.finds(text)) != options.has("v")

    found = [one for one in processes(call) if fits(one)]
    ids = {str(user.uid): name for name, user in call.machine.users.items()}
    if options.has("u"):
        users = [ids.get(name, name) for name in (options.value("u") or "").split(",")]
        found = [one for one in found if one.user in users]
    if options.has("P"):
        found = [one for one in found if str(one.parent) in (options.value("P") or "").split(",")]
    if options.has("n", "o") and found:
        found = [
            max(found, key=lambda one: (one.started, one.pid))
            if options.has("n")
            else min(found, key=lambda one: (one.started, one.pid))
        ]
    code = 0 if found else 1
    if call.name == "pgrep":
        if options.has("c"):
            return Result(f"{len(found)}\n", exit_code=code)
        lines = [
            f"{one.pid} {one.command}"
            if options.has("a")
            else f"{one.pid} {one.name}"
            if options.has("l")
            else str(one.pid)
            for one in found
        ]
        end_ = options.value("d") or "\n"
        return Result(end_.join(lines) + ("\n" if lines else ""), exit_code=code)
    number = number_of(given)
    if number is None:
        return Result(stderr=f"pkill: unrecognized signal name: {given}\n", exit_code=2)
    return _send_all(call, found, number, code)


def _send_all(call: Invocation, found: Sequence[Process], number: int, code: int) -> Result:
    errors = ""
    for one in found:
        if call.user.uid != 0 and one.user != call.user.name:
            errors += f"{call.name}: killing pid {one.pid} failed: Operation not permitted\n"
        elif number:
            signal(call, one, number)
    return Result(stderr=errors, exit_code=1 if errors and len(errors.splitlines()) == len(found) else code)


def killall(call: Invocation) -> Result:
    """Send a signal to all processes with a name."""
    words, given = list(call.arguments), "TERM"
    if words and words[0].startswith("-") and words[0][1:2] not in ("", "q", "w", "v", "i", "e"):
        given = words.pop(0).lstrip("-")
        if given == "s" and words:
            given = words.pop(0)
    quiet = "-q" in words
    names = [word for word in words if not word.startswith("-")]
    number = number_of(given)
    if number is None:
        return Result(stderr=f"{given}: unknown signal; killall -l lists signals.\n", exit_code=1)
    if not names:
        return Result(stderr="Usage: killall [OPTION]... [--] NAME...\n", exit_code=1)
    errors, code = "", 0
    for name in names:
        found = [one for one in processes(call) if one.name == name]
        if not found:
            errors += "" if quiet else f"{name}: no process found\n"
            code = 1
            continue
        done = _send_all(call, found, number, 0)
        errors += re.sub(r"killall: killing pid (\d+) failed", rf"{name}(\1)", done.stderr)
        code = max(code, done.exit_code)
    return Result(stderr=errors, exit_code=code)
