"""Where a script began that starts jobs in the background, and how one of its jobs is run again when it did not foresee what others do."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar, cast

from simtrain.values.clock import Clock
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.machine.accounts import User
from simtrain.worlds.machine.file_tree import FileTree
from simtrain.worlds.machine.job_segments import Recording, Segment
from simtrain.worlds.machine.records import Records

if TYPE_CHECKING:
    from simtrain.worlds.machine.jobs import BackgroundJob
    from simtrain.worlds.machine.machine import Machine

T = TypeVar("T")

MOST_PAUSES = 1_000
"""Most times that a job may sleep: what sleeps more often is taken to run for ever, and goes on to sleep."""
MOST_EFFORT = 5_000
"""Pauses that a job may be run again for, over all its second runs: then it does what it foresees, whatever others do."""


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

    machines: Mapping[str, Machine]
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

    def note(self, machine: Machine) -> None:
        """Note what the script meets now."""
        trees = {one.name: one.tree.copy() for one in machine.all}
        self.course.append(Checkpoint(trees, machine.jobs.known, len(self.answers), machine.draws))

    def run_again(self, machine: Machine, job: BackgroundJob, segment: Segment) -> BackgroundJob:
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
        scratch: dict[str, Machine] = {}
        for name, one in self.machines.items():
            scratch[name] = one.copy(clock, one.records, scratch)
        there = scratch[self.name]
        there.jobs.second = second
        second.records = JobRecords(machine.records, answers, there)
        for one in scratch.values():
            one.records = second.records
        self._run(there)
        killed = {one.pid: one.killed for one in there.jobs.known if one.killed}
        for one in machine.jobs.known:
            if one.pid in killed and one.running(machine.clock.moment):
                machine.jobs.kill(machine, one, killed[one.pid])
        return second.outcome

    def _run(self, machine: Machine) -> None:
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

    def __init__(self, origin: JobOrigin, job: BackgroundJob, at: int, most: int, machine: Machine) -> None:
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

    def meet(self, machine: Machine) -> None:
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


class JobRecords:
    """The tables for a script that starts jobs: what they answer is noted, and told again when one of its jobs is run again."""

    __slots__ = ("_answers", "_machine", "_records", "told")

    def __init__(self, records: Records, answers: list[object], machine: Machine) -> None:
        """`answers` are told first, in their order. `machine` is the one on which the script runs."""
        self._records = records
        self._answers = answers
        self._machine = machine
        self.told = 0

    def read(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> list[JsonObject]:
        return self._answer(lambda: self._records.read(sql, parameters))

    def write(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> int:
        return self._answer(lambda: self._records.write(sql, parameters))

    def _answer(self, ask: Callable[[], T]) -> T:
        if self.told == len(self._answers):
            self._machine.jobs.ask(self._machine)
            self._answers.append(ask())
        self.told += 1
        return cast(T, self._answers[self.told - 1])


@contextmanager
def starting_jobs(
    machine: Machine,
    script: str,
    *,
    stdin: str | None,
    user: User,
    directory: str,
    environment: Mapping[str, str],
    save: Callable[[], bytes] | None = None,
    pid: int = 0,
) -> Generator[None]:
    """Make ready for a script that starts jobs. `save` returns the state of its shell; `pid` is that of a process of its own."""
    jobs = machine.jobs
    if jobs.recording or jobs.second is not None:
        # It is part of another job, or is run again.
        yield
        return
    clock = copy(machine.clock)
    copies: dict[str, Machine] = {}
    for one in machine.all:
        copies[one.name] = one.copy(clock, one.records, copies)
    state = None if save is None else save()
    origin = JobOrigin(
        copies, machine.name, clock, script, stdin, user, directory, environment, len(machine.running), state, pid
    )
    origins, before = jobs.origins, machine.records
    # What cron starts is beside all others, and no part of them.
    jobs.origins = (origin,) if pid else (*origins, origin)
    records = JobRecords(before, origin.answers, machine)
    for one in machine.all:
        one.records = records
    try:
        yield
    finally:
        jobs.origins = origins
        for one in machine.all:
            one.records = before
