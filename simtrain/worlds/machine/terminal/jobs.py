"""Jobs of a terminal: scripts that are stopped or run in the background, while others run.

A job goes on as `Running` lets a script go on: it is run again from where it began, up to a later moment of its own time, which stands
still while it is stopped. Each time that it wakes it meets the files as they are then, and what it changes in them is brought into the
present ones. What it changes in variables stays its own, as that of a child process does; so does what it writes to the tables of
processes and services, which is the difference to a real one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, Self, TypeVar

from simtrain.values.clock import stamp
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.machine.file_tree import FileTree
from simtrain.worlds.machine.machine import Machine
from simtrain.worlds.machine.terminal.running import Output, Running, Script, ShellState, play
from simtrain.worlds.machine.terminal.words import calls_of, words_of

_LAST = re.compile(r"""('[^']*'|\\.)|\$!""", re.DOTALL)
_ADD = """
    insert into processes (host, pid, parent, user, command, state, started)
    values (:host, :pid, :parent, :user, :command, :state, :started)
"""
_NEXT = "select max(coalesce(max(pid), 600), :shell) + 13 as pid from processes where host = :host"
_THERE = "select 1 from processes where host = :host and pid = :pid"
_DROP = "delete from processes where host = :host and pid = :pid"
_STATE = "update processes set state = :state where host = :host and pid = :pid"


class MachineAccess(ShellState, Protocol):
    """The state of a world with its machines and tables."""

    @property
    def machines(self) -> Mapping[str, Machine]:
        """Return the machines by name."""
        ...

    @property
    def login(self) -> tuple[str, str]:
        """Return the machine and the user of the terminal."""
        ...

    def record(self, sql: str, parameters: Mapping[str, JsonValue] | None) -> int:
        """Carry out a writing statement."""
        ...

    def recorded(self, sql: str, parameters: Mapping[str, JsonValue] | None) -> list[JsonObject]:
        """Return the rows of a SELECT."""
        ...

    def bare_fork(self) -> Self:
        """Return an independent copy without a terminal."""
        ...


S = TypeVar("S", bound=MachineAccess)


@dataclass(slots=True)
class ShellJob(Generic[S]):
    """A job. `before` is the state in which it began; it has run up to `seen`, in Unix seconds of its own time.

    `met` are the files that it met when it woke, by the number of its sleep. `behind` is how much its time is behind that of the world;
    `stopped` is when it was stopped, in the world's time.
    """

    number: int
    pid: int
    command: str
    line: Script
    before: S
    seen: float
    met: Mapping[int, Mapping[str, FileTree]] = field(default_factory=dict[int, "Mapping[str, FileTree]"])
    behind: float = 0.0
    stopped: float | None = None
    endless: bool = False
    ended: str = ""
    finish: float = 0.0
    code: int = 0

    def copy(self) -> ShellJob[S]:
        """Return an independent copy."""
        return replace(self, before=self.before.bare_fork())

    @property
    def runs(self) -> bool:
        """Return whether it is neither stopped nor at its end."""
        return self.stopped is None and not self.ended


class TerminalJobs(Generic[S]):
    """The jobs of a terminal, oldest first. `last` is the process of the one that was last begun in the background."""

    __slots__ = ("_running", "jobs", "last", "state")

    def __init__(self, state: S, running: Running[S]) -> None:
        """Have no jobs yet; `running` is told of what jobs write."""
        self.state = state
        self._running = running
        self.jobs: list[ShellJob[S]] = []
        self.last = 0

    def copy(self, state: S, running: Running[S]) -> TerminalJobs[S]:
        """Return the same for a fork of the state."""
        other = TerminalJobs(state, running)
        other.jobs, other.last = [job.copy() for job in self.jobs], self.last
        return other

    def begin(self, command: str, line: Script, before: S, *, seen: float, stopped: bool) -> ShellJob[S]:
        """Add a job that is stopped now, or runs in the background from now on."""
        state = self.state
        host, user = state.login
        now = state.clock.moment
        shell = state.machines[host].shell
        pid = int(str(state.recorded(_NEXT, {"host": host, "shell": shell})[0]["pid"]))
        number = max((job.number for job in self.jobs), default=0) + 1
        job = ShellJob(number, pid, command, line, before, seen, stopped=now if stopped else None)
        self._record(
            _ADD,
            {
                "host": host, "pid": pid, "parent": shell, "user": user, "command": command, "state": "T" if stopped else "S",
                "started": stamp(line.began),
            },
        )  # fmt: skip
        self.jobs.append(job)
        self.last = self.last if stopped else pid
        return job

    def go_on(self, job: ShellJob[S], moment: float) -> list[Output]:
        """Let a job go on up to a moment, and return what it has written since."""
        if not job.runs:
            return []
        host, _ = self.state.login
        if not self.state.recorded(_THERE, {"host": host, "pid": job.pid}):
            job.ended, job.code = "Terminated", 143
            return []
        until = moment - job.behind
        if job.endless or until <= job.seen:
            return []
        later = job.before.bare_fork()
        later.clock.moment = job.line.began
        for machine in later.machines.values():
            # It runs in the world already, and what it does there is none of the job's.
            machine.cron.seen = None
        others = _Others(self.state, self._running, job, later, until)
        later.machines[host].meets = others.meet
        pieces, finished = play(later, job.line, until)
        others.bring()
        if finished.ending != "timeout":
            job.code = finished.exit_code
            self.end(job, "Done" if not finished.exit_code else f"Exit {finished.exit_code}")
        job.finish = later.clock.moment + job.behind
        job.endless = finished.ending == "timeout" and later.clock.moment < until
        later.close()
        pieces = [piece for piece in pieces if piece.moment >= job.seen]
        job.seen = until
        return pieces

    def stop(self, job: ShellJob[S]) -> None:
        """Stop a job."""
        job.stopped = self.state.clock.moment
        self._show_state(job, "T")

    def resume(self, job: ShellJob[S]) -> None:
        """Let a stopped job run again."""
        if job.stopped is not None:
            job.behind += self.state.clock.moment - job.stopped
            job.stopped = None
            self._show_state(job, "S")

    def _show_state(self, job: ShellJob[S], letter: str) -> None:
        self._record(_STATE, {"host": self.state.login[0], "pid": job.pid, "state": letter})

    def _record(self, sql: str, parameters: Mapping[str, JsonValue]) -> None:
        self.state.record(sql, parameters)
        self._running.written_by_others(lambda state: state.record(sql, parameters))

    def end(self, job: ShellJob[S], how: str) -> None:
        """End a job."""
        job.ended = how
        self._record(_DROP, {"host": self.state.login[0], "pid": job.pid})

    def remove(self, job: ShellJob[S]) -> None:
        """Forget a job."""
        if not job.ended:
            self.end(job, "Done")
        job.before.close()
        self.jobs.remove(job)

    def find(self, name: str) -> ShellJob[S] | None:
        """Return the job of a name such as `%1`, `%%`, `%-` or `%text`, or of a process; of an empty one the current job."""
        order = self._order()
        if name in ("", "%", "%%", "%+"):
            return order[0] if order else None
        if name == "%-":
            return order[1] if len(order) > 1 else None
        if name.isdigit():
            return next((job for job in self.jobs if job.pid == int(name)), None)
        name = name.removeprefix("%")
        for job in self.jobs:
            if (name.isdigit() and job.number == int(name)) or (
                name and not name.isdigit() and job.command.startswith(name)
            ):
                return job
        return None

    def by_process(self, line: str) -> str:
        """Return a line whose calls of `kill` name processes in the place of jobs, which the command does not know."""
        named = [
            word for call in calls_of(words_of(line).words) if call.words[0].raw == "kill" for word in call.words[1:]
        ]
        for word in reversed(named):
            job = self.find(word.raw) if word.raw.startswith("%") else None
            if job is not None and not job.ended:
                line = f"{line[: word.start]}{job.pid}{line[word.end :]}"
        return line

    def _order(self) -> list[ShellJob[S]]:
        """Return the jobs, the current one first: those that are stopped before others, the youngest first."""
        return sorted(self.jobs, key=lambda job: (job.stopped is None, -(job.stopped or 0.0), -job.number))

    def shown(self, job: ShellJob[S]) -> str:
        """Return a job as `jobs` lists it."""
        order = self._order()
        mark = "+" if order[:1] == [job] else "-" if order[1:2] == [job] else " "
        word = job.ended or ("Running" if job.stopped is None else "Stopped")
        return f"[{job.number}]{mark}  {word:<24}{job.command}{' &' if job.runs else ''}"

    def news(self) -> str:
        """Return what is told of jobs before a prompt: those that have ended, which are then forgotten."""
        ended = [job for job in self.jobs if job.ended]
        text = "".join(f"{self.shown(job)}\n" for job in ended)
        for job in ended:
            job.before.close()
            self.jobs.remove(job)
        return text

    def close(self) -> None:
        """Free what the jobs hold."""
        for job in self.jobs:
            job.before.close()
        self.jobs.clear()


class _Others(Generic[S]):
    """What a job meets of others as it goes on, and they of it."""

    def __init__(self, state: S, running: Running[S], job: ShellJob[S], later: S, until: float) -> None:
        """`later` is the state in which the job is run again, up to `until`; `state` is the present one."""
        self._state, self._running = state, running
        self._job, self._later, self._until = job, later, until
        self._sleeps = 0
        # The files since which what the job does is new; None as long as it repeats what it did.
        self._since = _copies(later) if job.seen == job.line.began else None

    def meet(self) -> None:
        """Show the files to the job that it meets when it has slept."""
        job, now = self._job, self._later.clock.moment
        self._sleeps += 1
        if now >= self._until:
            return
        if now >= job.seen:
            self.bring()
            self._since = _copies(self._state)
            job.met = {**job.met, self._sleeps: self._since}
        for name, tree in job.met.get(self._sleeps, {}).items():
            self._later.machines[name].tree.become(tree)

    def bring(self) -> None:
        """Bring what is new into the present files."""
        if self._since is None:
            return
        before, after = self._since, _copies(self._later)
        if _bring(self._state, before, after):
            self._running.written_by_others(lambda state: _bring(state, before, after))


def with_last_process(script: str, pid: int) -> str:
    """Return a script with the number of a process in the place of `$!`, where that is expanded; the engine does not know of jobs."""
    if not pid or "$!" not in script:
        return script
    # What stands in single quotes or behind a backslash stays.
    return _LAST.sub(lambda found: found[1] or str(pid), script)


def _copies(state: MachineAccess) -> dict[str, FileTree]:
    return {name: machine.tree.copy() for name, machine in state.machines.items()}


def _bring(state: MachineAccess, before: Mapping[str, FileTree], after: Mapping[str, FileTree]) -> bool:
    """Make the changes from one copy of the machines' files to a later one; return whether there are any."""
    changed = [state.machines[name].tree.take_over(before[name], tree) for name, tree in after.items()]
    return any(changed)
