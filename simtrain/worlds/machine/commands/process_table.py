"""The processes of a machine, as rows of the table `processes`."""

import re
from dataclasses import dataclass
from posixpath import basename

from simtrain.values.clock import instant, stamp
from simtrain.values.types import JsonObject
from simtrain.worlds.machine.commands.about import MEMORY
from simtrain.worlds.machine.invocation import Invocation
from simtrain.worlds.machine.machine import Machine

_TERM = 15
TERMINAL = "pts/0"
"""The terminal at which the agent is logged in."""
SSHD = 421
"""The number of the process of `sshd`, which logs people in."""
# What the shell takes from a command line before a process has it.
_PREFIX = re.compile(r"^(?:(?:nohup|setsid|exec)\s+|\w+=\S*\s+)+")
_REDIRECTION = re.compile(r"\s*(?:\d*|&)[<>]{1,2}&?\s*\S+")


@dataclass(frozen=True, slots=True)
class Process:
    """A process. `memory` is in KiB, `cpu` in percent of a core, `started` Unix time."""

    pid: int
    parent: int
    user: str
    command: str
    state: str
    cpu: float
    memory: int
    started: float
    service: str | None
    terminal: str = "?"
    port: int | None = None

    @property
    def name(self) -> str:
        """Return the short name: the program, of at most 15 letters."""
        first = self.command.split(" ")[0]
        return (first.rstrip(":") if first.endswith(":") else basename(first).lstrip("-"))[:15]

    @property
    def share(self) -> float:
        """Return its share of memory, in percent."""
        return 100 * self.memory / MEMORY

    def seconds(self, now: float) -> float:
        """Return the CPU time that it has taken."""
        return (now - self.started) * self.cpu / 100


def processes(call: Invocation) -> list[Process]:
    """Return the processes of the machine by number."""
    return processes_of(call.machine)


def processes_of(machine: Machine) -> list[Process]:
    """Return the processes of a machine by number."""
    rows = machine.records.read("select * from processes where host = :host order by pid", {"host": machine.name})
    found = [_process(row, machine.shell) for row in rows]
    return sorted([*found, *_jobs(machine)], key=lambda one: one.pid)


def _jobs(machine: Machine) -> list[Process]:
    return [
        Process(
            job.pid,
            machine.shell,
            job.user,
            _PREFIX.sub("", _REDIRECTION.sub("", job.command)),
            "S",
            0.0,
            3_840,
            job.started,
            None,
            TERMINAL,
        )
        for job in machine.jobs.known
        if job.running(machine.clock.moment)
    ]


def with_own(call: Invocation) -> list[Process]:
    """Return all processes, with the shell that runs the command, and the command."""
    found = processes(call)
    shell = login_shell(call.machine, login_name(call))
    line = " ".join([call.name, *call.arguments])
    last = max(one.pid for one in (*found, shell))
    own = Process(last + 8, shell.pid, call.user.name, line, "R+", 0.0, 3_840, call.now, None, TERMINAL)
    return sorted([*found, shell, own], key=lambda one: one.pid)


def login_name(call: Invocation) -> str:
    """Return whose login it is, also where sudo runs the command as somebody else."""
    return call.environment.get("SUDO_USER") or call.user.name


def login_shell(machine: Machine, user: str) -> Process:
    """Return the process of the shell in which the agent is logged in."""
    return Process(machine.shell, SSHD, user, "-bash", "Ss", 0.0, 5_120, machine.began, None, TERMINAL)


def _process(row: JsonObject, shell: int) -> Process:
    return Process(
        row["pid"], row["parent"], row["user"], row["command"], row["state"], row["cpu"], row["memory"],
        instant(row["started"]), row["service"], TERMINAL if row["parent"] == shell else "?", row["port"],
    )  # fmt: skip


def end(call: Invocation, process: Process, *, service_state: str) -> None:
    """Take a process away; its service goes into a state."""
    host = call.machine.name
    for job in call.machine.jobs.known:
        if job.pid == process.pid and job.running(call.moment):
            call.machine.jobs.kill(call.machine, job, _TERM)
            return
    call.write("delete from processes where host = :host and pid = :pid", {"host": host, "pid": process.pid})
    if process.service:
        sql = "update services set state = :state, changed = :now where host = :host and name = :name"
        call.write(sql, {"host": host, "name": process.service, "state": service_state, "now": stamp(call.now)})


def begin(call: Invocation, service: JsonObject) -> int:
    """Start the process of a service, and return its number."""
    host = call.machine.name
    sql = "select max(coalesce(max(pid), 600), :shell) + 13 as pid from processes where host = :host"
    rows = call.read(sql, {"host": host, "shell": call.machine.shell})
    pid = int(rows[0]["pid"])
    sql = (
        "insert into processes (host, pid, parent, user, command, started, port, service, memory) "
        "values (:host, :pid, 1, :user, :command, :now, :port, :name, 9000)"
    )
    values: JsonObject = {name: service[name] for name in ("user", "command", "port", "name")}
    call.write(sql, {**values, "host": host, "pid": pid, "now": stamp(call.now)})
    return pid
