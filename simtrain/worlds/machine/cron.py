"""Cron: the lines of the crontab run at their minutes of virtual time, while a machine's `cron` process is there.

Minutes are those of the machine's own clock. A line runs by `sh -c` in the home of its user, and what it does after a `sleep` comes
when its time has come, as with jobs in the background. What it prints goes nowhere, as on a machine that delivers no mail; the journal
says that it was run.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from simtrain.values.clock import Clock, stamp
from simtrain.worlds.machine.accounts import User
from simtrain.worlds.machine.cron_times import CronTimes, cron_times
from simtrain.worlds.machine.engine import Finished
from simtrain.worlds.machine.file_tree import FileTree
from simtrain.worlds.machine.jobs import Jobs
from simtrain.worlds.machine.records import Records

MINUTE = 60.0
MOST_MINUTES = 45_000
"""Most minutes that are looked at when time leaps, some 31 days; what would have run after them is left out."""
MOST_RUNS = 500
"""Most runs in one leap of time."""
_PID = "select pid from processes where host = :host and service = 'cron' and state <> 'T'"
_LINES = "select user, schedule, command from crontab where host = :host order by rowid"
_NOTE = "insert into journal (host, moment, unit, pid, message) values (:host, :moment, 'cron', :pid, :message)"
_PATH = "/usr/bin:/bin"


class CronHost(Protocol):
    """What cron sees of a machine."""

    name: str
    clock: Clock
    ahead: float
    tree: FileTree
    users: Mapping[str, User]
    records: Records
    jobs: Jobs

    def settle_jobs(self, now: float) -> None:
        """Let happen what jobs do until a moment."""
        ...

    def run_apart(
        self, script: str, *, user: User, environment: Mapping[str, str], stdin: str | None, pid: int
    ) -> Finished:
        """Run a script beside all others, as a job of a time of its own."""
        ...


@dataclass(frozen=True, slots=True)
class _Line:
    user: User
    times: CronTimes
    command: str


@dataclass(slots=True)
class Cron:
    """How far the lines of a machine's crontab have run: up to `seen`, in Unix seconds of true time; None where it never runs."""

    seen: float | None = None
    busy: bool = False

    def copy(self) -> "Cron":
        """Return an independent copy, between two commands."""
        return Cron(self.seen)

    def settle(self, machine: CronHost) -> None:
        """Run what is due until now. It is put off while a job is run whose time lies ahead."""
        now = machine.clock.moment
        if self.seen is None or self.busy or machine.jobs.recording or now <= self.seen:
            return
        begun, self.seen = self.seen, now
        first = (begun + machine.ahead) // MINUTE + 1
        minutes = min(int((now + machine.ahead) // MINUTE - first) + 1, MOST_MINUTES)
        if minutes <= 0:
            return
        self.busy = True
        try:
            _run_between(machine, first * MINUTE - machine.ahead, minutes)
        finally:
            self.busy = False
            machine.clock.moment = now


def _run_between(machine: CronHost, first: float, minutes: int) -> None:
    runs = 0
    endless = set[_Line]()
    lines = _lines(machine)
    for number in range(minutes if lines else 0):
        moment = first + number * MINUTE
        own = datetime.fromtimestamp(moment + machine.ahead, UTC)
        due = [line for line in lines if line.times.has(own) and line not in endless]
        for line in due[: MOST_RUNS - runs]:
            machine.clock.moment = moment
            machine.settle_jobs(moment)
            pid = machine.records.read(_PID, {"host": machine.name})
            if not pid:
                return
            if not _run(machine, line, int(str(pid[0]["pid"])) + 1 + runs):
                endless.add(line)
            runs += 1
        if due:
            # A run may have changed the crontab.
            lines = _lines(machine)


def _lines(machine: CronHost) -> list[_Line]:
    found: list[_Line] = []
    for row in machine.records.read(_LINES, {"host": machine.name}):
        times, user = cron_times(str(row["schedule"])), machine.users.get(str(row["user"]))
        if times is not None and user is not None:
            found.append(_Line(user, times, str(row["command"])))
    return found


def _run(machine: CronHost, line: _Line, pid: int) -> bool:
    """Run a line, and return whether it ended by itself."""
    command, stdin = _split(line.command)
    user, moment = line.user, stamp(machine.clock.moment + machine.ahead)
    told = {"host": machine.name, "moment": moment, "pid": pid, "message": f"({user.name}) CMD ({line.command})"}
    machine.records.write(_NOTE, {**told})
    environment = {"HOME": user.home, "LOGNAME": user.name, "SHELL": "/bin/sh", "PATH": _PATH, "LANG": "C.UTF-8"}
    finished = machine.run_apart(command, user=user, environment=environment, stdin=stdin, pid=pid)
    if finished.stdout or finished.stderr:
        machine.records.write(_NOTE, {**told, "message": "(CRON) info (No MTA installed, discarding output)"})
    return not finished.ending


def _split(command: str) -> tuple[str, str | None]:
    r"""Return a command and its input, which is what follows a `%`; each further one is a newline, `\%` the sign itself. See crontab(5)."""
    parts = [part.replace("\0", "%") for part in command.replace(r"\%", "\0").split("%")]
    return parts[0], "\n".join(parts[1:]) + "\n" if parts[1:] else None
