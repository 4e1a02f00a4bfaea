"""One machine in one episode: its files, users, clock and records, and the shells that run on it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, Self

from simtrain.values.clock import Clock
from simtrain.values.seeding import Root
from simtrain.worlds.machine.accounts import ROOT, User
from simtrain.worlds.machine.cron import Cron
from simtrain.worlds.machine.disk import Disk
from simtrain.worlds.machine.engine import NO_PROCESS, TIMED_OUT, Finished, Result, Shell
from simtrain.worlds.machine.file_tree import ComputedFiles, FileTree
from simtrain.worlds.machine.files import Files
from simtrain.worlds.machine.job_starts import starting_jobs
from simtrain.worlds.machine.jobs import Jobs
from simtrain.worlds.machine.records import Records
from simtrain.worlds.machine.sites import ServiceAnswer

MOST_CHILDREN = 24
"""Most shells within each other, each the child of the one before."""
MOST_NESTED = 250
"""Most shells that one command line may start in children of its children, over all of them: what starts more is taken to fork for ever."""
LONGEST_APART = 86_400.0
"""Seconds of virtual time after which a script is ended that cron runs."""


class ShellOpener(Protocol):
    """Opens a shell of an engine for a user on a machine; with `state`, as `Shell.save` left it."""

    def __call__(
        self,
        machine: Machine,
        user: User,
        *,
        directory: str,
        environment: Mapping[str, str],
        state: bytes | None = None,
    ) -> Shell:
        """Return the shell."""
        ...


@dataclass(slots=True, eq=False, weakref_slot=True)
class Machine:
    """One machine of a world in one episode.

    `peers` are all machines of the world by name, this one included. `open_shell` opens its shells. `deadline` is the
    Unix time at which the running script is stopped. `python` is the sandbox in which `python3` runs, None in a world without Python.
    `answers` are those of its services over HTTP, by name. `further` are commands that are there in this episode beside the world's own.
    `nested` counts the shells that children of children have started. `meets` is called when time has passed, before scripts go on.
    `ahead` says by how many seconds its own clock is wrong, `began` when the agent logged in, in Unix seconds,
    and `shell` is the number of the process of its shell. `proc` makes what the machine shows below /proc.
    """

    name: str
    tree: FileTree
    clock: Clock
    records: Records
    open_shell: ShellOpener
    users: Mapping[str, User] = field(default_factory=lambda: {"root": ROOT})
    groups: Mapping[str, int] = field(default_factory=lambda: {"root": 0})
    disk: Disk = field(default_factory=Disk)
    peers: Mapping[str, Machine] = field(default_factory=dict[str, "Machine"])
    root: Root = field(default_factory=lambda: Root(0))
    deadline: float | None = None
    running: list[Shell] = field(default_factory=list[Shell])
    draws: int = 0
    nested: int = 0
    python: str | None = None
    ahead: float = 0.0
    began: float = 0.0
    shell: int = 622
    jobs: Jobs = field(default_factory=Jobs)
    meets: Callable[[], None] | None = None
    cron: Cron = field(default_factory=Cron)
    answers: Mapping[str, Sequence[ServiceAnswer]] = field(default_factory=dict[str, Sequence[ServiceAnswer]])
    further: Mapping[str, Callable[..., Result]] = field(default_factory=dict[str, "Callable[..., Result]"])
    proc: Callable[[Machine], ComputedFiles] | None = None

    def __post_init__(self) -> None:
        """Let the files show what lies below /proc."""
        if self.proc is not None:
            self.tree.proc = self.proc(self)

    def copy(self, clock: Clock, records: Records, peers: Mapping[str, Self]) -> Self:
        """Return an independent copy for a fork of the episode, between two commands."""
        return replace(
            self,
            tree=self.tree.copy(),
            disk=replace(self.disk),
            jobs=self.jobs.copy(),
            cron=self.cron.copy(),
            clock=clock,
            records=records,
            peers=peers,
            deadline=None,
            running=[],
            meets=None,
        )

    @property
    def all(self) -> Collection[Machine]:
        """Return all machines of the world."""
        return self.peers.values() if self.peers else (self,)

    @property
    def moment(self) -> float:
        """Return what the machine takes for the time, in Unix seconds."""
        return self.clock.moment + self.ahead

    def settle(self) -> None:
        """Let happen what cron and jobs in the background do until now."""
        self.cron.settle(self)
        self.settle_jobs(self.clock.moment)

    def settle_jobs(self, now: float) -> None:
        """Let happen what jobs in the background do until a moment."""
        self.jobs.settle(self, now)

    def files(self, user: User) -> Files:
        """Return the files as a user sees them."""
        return Files(self.tree, self, user, self.disk)

    def group_number(self, name: str) -> int:
        """Return the number of a group."""
        return self.groups.get(name, 65534)

    def draw(self, purpose: str) -> int:
        """Return a random number of 64 bits, for commands that the world has to draw for: the same in each run of the episode."""
        self.draws += 1
        return self.root.derive(purpose, self.draws)

    def pass_time(self, amount: float) -> None:
        """Advance the clock, up to the deadline at most; there the running scripts are stopped. A job has a time of its own."""
        recorded = next((one for one in self.all if one.jobs.recording), None)
        if recorded is not None:
            recorded.jobs.pause(recorded)
        if self.deadline is not None and self.clock.moment + amount >= self.deadline:
            amount = max(0.0, self.deadline - self.clock.moment)
            # The innermost script alone: those around it look at the clock when it has ended.
            if self.running:
                self.running[-1].stop()
        self.clock.advance(amount)
        again = next((one for one in self.all if one.jobs.second is not None), None)
        if recorded is not None:
            recorded.jobs.wake(recorded)
        elif again is not None and again.jobs.second is not None:
            again.jobs.second.meet(again)
        else:
            # A job on another machine of the world wrote there.
            for machine in self.all:
                machine.settle()
            for machine in self.all:
                machine.jobs.note(machine)
                if machine.meets is not None:
                    machine.meets()

    def run_apart(
        self, script: str, *, user: User, environment: Mapping[str, str], stdin: str | None, pid: int
    ) -> Finished:
        """Run a script in a shell of its own beside all others: what it does after a `sleep` comes when its time has come."""
        shell = self.open_shell(self, user, directory=user.home, environment=environment)
        deadline, running = self.deadline, [*self.running]
        self.deadline, self.running[:] = self.clock.moment + LONGEST_APART, [shell]
        try:
            with starting_jobs(
                self, script, stdin=stdin, user=user, directory=user.home, environment=environment, pid=pid
            ):
                _ = self.jobs.begin(self, script, user.name)
                try:
                    return shell.run(script, stdin=stdin)
                finally:
                    self.jobs.end(self, pid, listed=False)
        finally:
            shell.close()
            self.deadline, self.running[:] = deadline, running

    def run_child(
        self,
        script: str,
        *,
        user: User,
        stdin: str | None,
        environment: Mapping[str, str],
        directory: str,
        limit: float | None,
    ) -> Result:
        """Run a script in a new shell and return what it left; see `Invocation.run`."""
        within = len(self.running)
        self.nested = self.nested + 1 if within > 2 else 0 if within < 2 else self.nested
        if within >= MOST_CHILDREN or self.nested > MOST_NESTED:
            if self.jobs.forking or self.nested > MOST_NESTED:
                # Each shell on the way would go on to fork, twice as many at each level.
                for each in self.running:
                    each.stop("processes")
            return Result(stderr=NO_PROCESS, exit_code=254)
        before = self.deadline
        ends = None if limit is None else self.clock.moment + limit
        own = ends is not None and (before is None or ends < before)

        shell = self.open_shell(self, user, directory=directory, environment=environment)
        if own:
            self.deadline = ends
        self.running.append(shell)
        try:
            finished = shell.run(script, stdin=stdin)
        finally:
            shell.close()
            self.running.pop()
            self.deadline = before
        result = Result(finished.stdout, finished.stderr, finished.exit_code)
        if before is not None and self.clock.moment >= before and self.running:
            # The time of the script around it is up as well.
            self.running[-1].stop()
        if own and ends is not None and self.clock.moment >= ends:
            return Result(result.stdout, result.stderr, TIMED_OUT)
        return result
