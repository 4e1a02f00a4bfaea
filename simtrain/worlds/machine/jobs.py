"""Jobs in the background: each has a time of its own, and what it does to files happens when its time has come.

The engine of the shell runs a job to its end at once, or as far as it is looked ahead. Meanwhile the clock is the job's; afterwards the
clock is put back, and what the job did after its first pause is taken out of the files again and kept, with its moments and with what it
looked at. When such a moment has come and the files look otherwise to it, it is run again from where it began, up to that moment as
before, and from there on with the files as they are. So a job is plain data, which forks share.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf

from simtrain.worlds.machine.job_origins import MOST_PAUSES, BackgroundJob, JobHost, JobOrigin, SecondRun
from simtrain.worlds.machine.job_segments import Recording
from simtrain.worlds.machine.printed import Printed

MOST_JOBS = 200
"""Most jobs that are over and still remembered."""
MOST_PROCESSES = 500
"""Most jobs that run at a time, and most that one job starts: as `ulimit -u` bounds the processes of a user."""
MANY_WITHIN = 10
"""Jobs within each other from which on a script that calls itself too deeply is taken to fork for ever."""


class NoProcessLeft(Exception):
    """A job cannot be started: its user has too many."""


class TooEarly(Exception):
    """A job that is run ahead of its time asks for what is known only then."""


class Jobs:
    """The jobs of one machine in one episode.

    `origins` are where the scripts began that run now, one within the other, and may start jobs; `second` is there while a job is run
    again, in a copy of the machine.
    """

    __slots__ = ("_depth", "_recording", "_settling", "code", "deadline", "known", "origins", "second")

    def __init__(self, known: tuple[BackgroundJob, ...] = ()) -> None:
        self.known = known
        self._recording: Recording | None = None
        self._depth = 0
        self._settling = False
        self.origins: tuple[JobOrigin, ...] = ()
        self.second: SecondRun | None = None
        # That of the job that ended last.
        self.code = 0
        # That of the machine, while the engine runs a job.
        self.deadline: float | None = None

    def copy(self) -> Jobs:
        """Return an independent copy, between two commands."""
        return Jobs(self.known)

    @property
    def recording(self) -> bool:
        """True while the engine runs a job."""
        return self._recording is not None

    @property
    def within(self) -> bool:
        """True while the engine runs a job that another one has started."""
        return self._depth > 1

    @property
    def forking(self) -> bool:
        """True if the job that the engine runs starts job after job."""
        found = self._recording
        return found is not None and found.started_within > MANY_WITHIN

    @property
    def cut(self) -> bool:
        """True if the rest of the job that the engine runs is left out."""
        return self._recording is not None and self._recording.cut

    @property
    def listed(self) -> tuple[BackgroundJob, ...]:
        """Return the jobs of the shell."""
        return tuple(job for job in self.known if job.number)

    def begin(self, machine: JobHost, command: str, user: str, *, level: int = -1) -> bool:
        """Note that the engine begins to run a job; return whether it shall. One within another belongs to that. Raises NoProcessLeft."""
        now = machine.clock.moment
        if self._recording is None:
            if self.second is not None and not self.second.comes_to():
                return False
            if len(self.known) >= MOST_PROCESSES and sum(job.running(now) for job in self.known) >= MOST_PROCESSES:
                raise NoProcessLeft
            answers = self.origins[-1].answers if self.origins else ()
            self._recording = Recording(level, command, user, now, machine.tree.copy(), answers)
            if level < 0:
                self._recording.most = MOST_PAUSES
            if self.second is not None:
                self.second.begins(self._recording)
        else:
            self._recording.started_within += 1
            if self._recording.started_within > MOST_PROCESSES:
                raise NoProcessLeft
        self._depth += 1
        return True

    def pause(self, machine: JobHost) -> None:
        """Note that the job lets time pass now. Raises NoProcessLeft if it goes on although its `sleep` has told it to end."""
        found = self._recording
        if found is not None:
            found.pause(machine.tree)
            if found.pauses > 2 * MOST_PAUSES:
                raise NoProcessLeft

    def wake(self, machine: JobHost) -> None:
        """Note that time has passed for the job."""
        found = self._recording
        if found is not None:
            found.wake(machine.tree, machine.clock.moment)
            if self.second is not None:
                self.known = self.second.known(found, self.known)
            self._stop_if_cut(machine, found)

    def ask(self, machine: JobHost) -> None:
        """Note that the tables are asked, or another job is ended. Raises TooEarly in a job whose time for it has not come."""
        found = self._recording
        if found is None or found.first is None:
            return
        if self.second is not None and self.second.is_present(found):
            self.second.bring(found, machine.tree)
            return
        if not found.cut:
            found.put_off()
            self._stop_if_cut(machine, found)
        raise TooEarly

    def _stop_if_cut(self, machine: JobHost, found: Recording) -> None:
        """Stop what need not go on: all of a second run, and shells that the job itself has started."""
        if found.cut:
            for shell in machine.running[0 if self.second is not None else max(0, found.level) :]:
                shell.stop()

    def end(self, machine: JobHost, pid: int, *, listed: bool = True) -> None:
        """Note that the engine has run the job to its end: put the clock back, and keep what lies ahead.

        The shell lists it unless `listed` is false.
        """
        done, tree, clock = self._recording, machine.tree, machine.clock
        if done is None and self.second is not None:
            self.second.meet(machine)
        self._depth -= done is not None
        if done is None or self._depth > 0:
            return
        done.close(tree)
        tree.watch = None
        ends, self._recording, self._depth = inf if done.cut else clock.moment, None, 0
        clock.moment = done.started
        if self.second is not None and self.second.ends(done, ends, self.code):
            for shell in machine.running:
                shell.stop()
            return
        if ends > done.started and done.first is not None:
            tree.become(done.first)
        number = max((job.number for job in self.known if job.ends > clock.moment and not job.killed), default=0) + 1
        job = BackgroundJob(
            number if listed else 0,
            pid,
            done.command,
            done.user,
            done.started,
            ends,
            tuple(done.segments),
            code=self.code,
            level=done.level,
            origin=self.origins[-1] if self.origins else None,
            place=len(self.origins[-1].course) if self.origins else 0,
        )
        self.known = (*self._remembered(clock.moment), job)
        self.note(machine)

    def note(self, machine: JobHost) -> None:
        """Note what the scripts that run now meet."""
        for origin in self.origins:
            origin.note(machine)

    def _remembered(self, now: float) -> tuple[BackgroundJob, ...]:
        """Return the jobs without the oldest of those that are over: half of them at a time, since each look at all of them costs."""
        if len(self.known) < MOST_JOBS:
            return self.known
        over = sum(not job.running(now) for job in self.known)
        if over < MOST_JOBS:
            return self.known
        left = iter(range(over))
        return tuple(job for job in self.known if job.running(now) or job.output or next(left) >= MOST_JOBS // 2)

    def hear(self, piece: Printed, *, level: int) -> bool:
        """Return whether something that a shell prints is a job's and lies ahead; then it is kept until its time has come."""
        job = self._recording
        if job is None or job.level != level or (piece.moment <= job.started and not job.cut):
            return False
        if not job.cut:
            job.output.append(piece)
        return True

    def take_output(self, *, level: int) -> list[Printed]:
        """Return what the jobs of a shell have printed until now and nobody was told."""
        found = [piece for job in self.known if job.level == level for piece in job.output]
        if found:
            self.known = tuple(replace(job, output=()) if job.level == level else job for job in self.known)
        return found

    def abandon(self, machine: JobHost, *, level: int) -> None:
        """End what a stopped script of a shell left behind."""
        if self._recording is not None and self._recording.level == level:
            self._depth = 1
            self.end(machine, 0)

    def settle(self, machine: JobHost, now: float) -> None:
        """Let happen what jobs do until now. Call it whenever time has passed."""
        if self._recording is not None or self._settling:
            return
        self._settling = True
        try:
            while (job := min(self._due(now), key=lambda one: (one.next, one.pid), default=None)) is not None:
                self._go_on(machine, job)
        finally:
            self._settling = False

    def _due(self, now: float) -> list[BackgroundJob]:
        return [job for job in self.known if job.segments and job.segments[0].moment <= now]

    def _go_on(self, machine: JobHost, job: BackgroundJob) -> None:
        """Do what a job does next."""
        segment, tree = job.segments[0], machine.tree
        if segment.open and (job.origin is None or segment.number > MOST_PAUSES):
            self._put(job, replace(job, segments=(), ends=inf, origin=None))
            return
        if job.origin is not None and not segment.holds(tree):
            job = self._put(job, job.origin.run_again(machine, job, segment))
            if not job.segments or job.segments[0].number != segment.number:
                return
            segment = job.segments[0]
        segment.apply(tree)
        rest = job.segments[1:]
        self._put(
            job, replace(job, segments=rest, output=job.output + segment.output, origin=job.origin if rest else None)
        )

    def _put(self, job: BackgroundJob, new: BackgroundJob) -> BackgroundJob:
        self.known = tuple(new if one is job else one for one in self.known)
        return new

    def kill(self, machine: JobHost, job: BackgroundJob, signal: int) -> None:
        """End a job: what it would still have done does not happen."""
        self.ask(machine)
        self._put(job, replace(job, killed=signal, segments=(), output=(), origin=None))

    def tell(self, now: float, told: BackgroundJob | None = None) -> None:
        """Note that the shell has told of a job that is over, or of all."""
        self.known = tuple(
            replace(job, told=True) if not job.running(now) and (told is None or job.pid == told.pid) else job
            for job in self.known
        )
