"""Where a script began that starts jobs in the background, and how one of its jobs is run again when it did not foresee what others do."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Protocol, Self

from simtrain.values.clock import Clock
from simtrain.worlds.machine.accounts import User
from simtrain.worlds.machine.engine import Finished, Shell
from simtrain.worlds.machine.file_tree import FileTree
from simtrain.worlds.machine.job_records import JobRecords
from simtrain.worlds.machine.job_segments import Recording, Segment
from simtrain.worlds.machine.printed import Printed
from simtrain.worlds.machine.records import Records

MOST_PAUSES = 1_000
"""Most times that a job may sleep: what sleeps more often is taken to run for ever, and goes on to sleep."""
MOST_EFFORT = 5_000
"""Pauses that a job may be run again for, over all its second runs: then it does what it foresees, whatever others do."""


@dataclass(frozen=True, slots=True)
class BackgroundJob:
    """A job: `ends` is the moment at which it is over, `killed` the signal that ended it before, `told` whether `jobs` said so.

    Its `number` is 0 if it is none of the shell's, but of cron. `segments` lie ahead. `output` is what it has printed and nobody was told
    yet, in a shell of that `level`. It is started at a `place` in the course of the script of `origin`; `found` are the files as it met
    them where they were not as foreseen, `effort` counts the pauses that it was run again for.
    """

    number: int
    pid: int
    command: str
    user: str
    started: float
    ends: float
    segments: tuple[Segment, ...] = ()
    killed: int = 0
    code: int = 0
    told: bool = False
    output: tuple[Printed, ...] = ()
    level: int = -1
    origin: JobOrigin | None = None
    place: int = 0
    found: Mapping[int, FileTree] = field(default_factory=dict[int, FileTree])
    effort: int = 0

    def running(self, now: float) -> bool:
        """True if it is not over yet."""
        return not self.killed and now < self.ends

    @property
    def next(self) -> float:
        """Return the moment at which it goes on, or is over."""
        return self.segments[0].moment if self.segments else self.ends


class HeldJobs(Protocol):
    """The jobs of a machine, as those see them that run one of them again."""

    known: tuple[BackgroundJob, ...]
    origins: tuple[JobOrigin, ...]
    second: SecondRun | None

    @property
    def recording(self) -> bool:
        """True while the engine runs a job."""
        ...

    def ask(self, machine: JobHost) -> None:
        """Note that the tables are asked, or another job is ended."""
        ...

    def kill(self, machine: JobHost, job: BackgroundJob, signal: int) -> None:
        """End a job."""
        ...


class JobHost(Protocol):
    """What jobs need of a machine."""

    name: str
    clock: Clock
    records: Records
    running: list[Shell]
    draws: int

    @property
    def tree(self) -> FileTree:
        """Return its files."""
        ...

    @property
    def jobs(self) -> HeldJobs:
        """Return its jobs."""
        ...

    @property
    def all(self) -> Collection[JobHost]:
        """Return all machines of the world."""
        ...

    @property
    def open_shell(self) -> Callable[..., Shell]:
        """Return what opens a shell for a user."""
        ...

    def copy(self, clock: Clock, records: Records, peers: Mapping[str, Self]) -> Self:
        """Return an independent copy."""
        ...

    def run_apart(
        self, script: str, *, user: User, environment: Mapping[str, str], stdin: str | None, pid: int
    ) -> Finished:
        """Run a script as a process of its own."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """What a script meets when a job that it has started is done by the engine, or when it has let time pass itself.

    `trees` are the files of all machines by name, `asked` counts what the tables had been asked, `draws` what was drawn by chance.
    """

    trees: Mapping[str, FileTree]
    jobs: tuple[BackgroundJob, ...]
    asked: int
    draws: int


@dataclass(frozen=True, slots=True, eq=False)
class JobOrigin:
    """A script, and copies of the machines as they were before it: nothing runs on these.

    `answers` are what it was told by the tables, `course` is what it met in its order, apart from the doing of its jobs. `state` is what
    its shell had saved; with a `pid` it is a process of its own, as cron starts them. `level` is that of its shell.
    """

    machines: Mapping[str, JobHost]
    name: str
    clock: Clock
    script: str
    stdin: str | None
    user: User
    directory: str
    environment: Mapping[str, str]
    level: int = 0
    state: bytes | None = None
    pid: int = 0
    answers: list[object] = field(default_factory=list[object])
    course: list[Checkpoint] = field(default_factory=list[Checkpoint])

    def note(self, machine: JobHost) -> None:
        """Note what the script meets now."""
        trees = {one.name: one.tree.copy() for one in machine.all}
        self.course.append(Checkpoint(trees, machine.jobs.known, len(self.answers), machine.draws))

    def run_again(self, machine: JobHost, job: BackgroundJob, segment: Segment) -> BackgroundJob:
        """Return a job as it goes on from a segment on, with the files that a machine has now."""
        answers = self.answers[: segment.asked]
        origin = replace(self, answers=answers)
        found = {**job.found, segment.number: machine.tree.copy()}
        effort = job.effort + segment.number
        last = effort > MOST_EFFORT
        # Who was surprised once may be soon again.
        most = MOST_PAUSES if last else 2 * segment.number if segment.open else segment.number + 1
        job = replace(job, origin=None if last else origin, found=found, effort=effort)
        second = SecondRun(origin, job, segment.number, most, machine)
        clock = copy(self.clock)
        scratch: dict[str, JobHost] = {}
        for name, one in self.machines.items():
            scratch[name] = one.copy(clock, one.records, scratch)
        there = scratch[self.name]
        there.jobs.second = second
        second.records = JobRecords(machine.records, answers, lambda: there.jobs.ask(there))
        for one in scratch.values():
            one.records = second.records
        self._run(there)
        killed = {one.pid: one.killed for one in there.jobs.known if one.killed}
        for one in machine.jobs.known:
            if one.pid in killed and one.running(machine.clock.moment):
                machine.jobs.kill(machine, one, killed[one.pid])
        return second.outcome

    def _run(self, machine: JobHost) -> None:
        if self.pid:
            machine.run_apart(self.script, user=self.user, environment=self.environment, stdin=self.stdin, pid=self.pid)
            return
        shell = machine.open_shell(
            machine, self.user, directory=self.directory, environment=self.environment, state=self.state
        )
        machine.running[:] = [shell] * max(1, self.level)
        try:
            shell.run(self.script, stdin=self.stdin)
        finally:
            shell.close()


class SecondRun:
    """A job that is run again in copies of the machines: up to its segment `at` as it was, from there on with the present files.

    What its script did before is done again, but for other jobs and for what others did meanwhile: these are taken from its course.
    """

    __slots__ = ("_at", "_job", "_machine", "_met", "_most", "_recording", "origin", "outcome", "records")

    def __init__(self, origin: JobOrigin, job: BackgroundJob, at: int, most: int, machine: JobHost) -> None:
        """`machine` is the one of the present. The job is looked ahead up to `most` pauses."""
        self.origin = origin
        self.records: JobRecords | None = None
        # What is left if the script is ended before it comes to the job.
        self.outcome = replace(job, segments=(), ends=job.next, origin=None)
        self._job, self._at, self._most, self._machine = job, at, most, machine
        self._met = 0
        self._recording: Recording | None = None

    def comes_to(self) -> bool:
        """Return whether the job that the script starts now is the one."""
        return self._met == self._job.place

    def begins(self, recording: Recording) -> None:
        """Note that the job begins."""
        self._recording = recording
        recording.found, recording.most = self._job.found, self._most

    def meet(self, machine: JobHost) -> None:
        """Let the script meet what it met."""
        found = self.origin.course[self._met]
        self._met += 1
        for one in machine.all:
            one.tree.become(found.trees[one.name])
        machine.jobs.known, machine.draws = found.jobs, found.draws
        assert self.records is not None, "it is run"
        self.records.told = found.asked

    def is_present(self, recording: Recording) -> bool:
        """Return whether a job does now what it does in the present."""
        return recording is self._recording and recording.pauses == self._at

    def known(self, recording: Recording, before: tuple[BackgroundJob, ...]) -> tuple[BackgroundJob, ...]:
        """Return the jobs that there are for one that goes on."""
        return self._machine.jobs.known if self.is_present(recording) else before

    def bring(self, recording: Recording, tree: FileTree) -> None:
        """Bring what the job has done in the present into the files of the machine: the tables are asked about them."""
        recording.changes(tree).apply(self._machine.tree)
        recording.last = tree.copy()

    def ends(self, recording: Recording, ends: float, code: int) -> bool:
        """Note that a job is over; return whether it is the one that is run again."""
        if recording is not self._recording:
            return False
        left = tuple(segment for segment in recording.segments if segment.number >= self._at)
        self.outcome = replace(self._job, segments=left, ends=ends, code=code)
        return True
