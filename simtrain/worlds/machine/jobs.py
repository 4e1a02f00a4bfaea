"""Jobs in the background: each has a time of its own, and what it does to files happens when its time has come.

The engine of the shell runs a job to its end at once. Meanwhile the clock is the job's; afterwards the clock is put back, and
what the job wrote after its first sleep is taken out of the files again and kept, with the moment of each write. So a job is
plain data, which forks share: it does not see what others do after it began.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from simtrain.worlds.machine.file_tree import FileTree
from simtrain.worlds.machine.nodes import TreeNode
from simtrain.worlds.machine.printed import Printed

if TYPE_CHECKING:
    from simtrain.values.clock import Clock

MOST_JOBS = 200
"""Most jobs that are over and still remembered."""
MOST_PROCESSES = 500
"""Most jobs that run at a time, and most that one job starts: as `ulimit -u` bounds the processes of a user."""
MANY_WITHIN = 10
"""Jobs within each other from which on a script that calls itself too deeply is taken to fork for ever."""
MOST_PAUSES = 1_000
"""Most times that a job may sleep: what sleeps more often is taken to run for ever, and goes on to sleep."""


class NoProcessLeft(Exception):
    """A job cannot be started: its user has too many."""


@dataclass(frozen=True, slots=True)
class Write:
    """What a job does to the files at a moment: what it leaves at each path, what it found there, and which it did not only add to."""

    moment: float
    nodes: Mapping[str, TreeNode | None]
    before: Mapping[str, TreeNode | None]
    replaced: frozenset[str]


@dataclass(frozen=True, slots=True)
class BackgroundJob:
    """A job: `ends` is the moment at which it is over, `killed` the signal that ended it before, `told` whether `jobs` said so.

    Its `number` is 0 if it is none of the shell's, but of cron. `output` is what it prints yet, in a shell of that `level`.
    """

    number: int
    pid: int
    command: str
    user: str
    started: float
    ends: float
    writes: tuple[Write, ...] = ()
    killed: int = 0
    told: bool = False
    output: tuple[Printed, ...] = ()
    level: int = -1

    def running(self, now: float) -> bool:
        """True if it is not over yet."""
        return not self.killed and now < self.ends


@dataclass(slots=True)
class JobRecording:
    """A job that the engine is running: the machine as it was, and what the job has done so far.

    `level` is that of the shell which has started it: how many shells are within each other, -1 for none.
    """

    level: int
    command: str
    user: str
    started: float
    last: FileTree
    first: FileTree | None = None
    writes: list[Write] = field(default_factory=list[Write])
    pauses: int = 0
    started_within: int = 0
    output: list[Printed] = field(default_factory=list[Printed])

    def pause(self, tree: FileTree, now: float) -> None:
        """Note what was written until now, before time passes."""
        self.pauses += 1
        if self.first is None:
            self.first = tree.copy()
        elif nodes := tree.changed_since(self.last):
            before = {path: self.last.get(path) for path in nodes}
            self.writes.append(Write(now, nodes, before, frozenset(tree.replaced or ()) & nodes.keys()))
        self.last, tree.replaced = tree.copy(), set()


class Jobs:
    """The jobs of one machine in one episode."""

    __slots__ = ("_depth", "_recording", "deadline", "known")

    def __init__(self, known: tuple[BackgroundJob, ...] = ()) -> None:
        self.known = known
        self._recording: JobRecording | None = None
        self._depth = 0
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
    def too_long(self) -> bool:
        """True if the job that the engine runs is taken to run for ever."""
        found = self._recording
        return found is not None and found.pauses > MOST_PAUSES

    def begin(self, command: str, user: str, tree: FileTree, clock: Clock, *, level: int = -1) -> None:
        """Note that the engine begins to run a job. One within another belongs to that. Raises NoProcessLeft."""
        now = clock.moment
        if self._recording is None:
            if len(self.known) >= MOST_PROCESSES and sum(job.running(now) for job in self.known) >= MOST_PROCESSES:
                raise NoProcessLeft
            self._recording = JobRecording(level, command, user, now, tree.copy())
            tree.replaced = set()
        else:
            self._recording.started_within += 1
            if self._recording.started_within > MOST_PROCESSES:
                raise NoProcessLeft
        self._depth += 1

    def pause(self, tree: FileTree, clock: Clock) -> None:
        """Note that the job lets time pass now. Raises NoProcessLeft if it goes on although its `sleep` has told it to end."""
        if self._recording is not None:
            self._recording.pause(tree, clock.moment)
            if self._recording.pauses > 2 * MOST_PAUSES:
                raise NoProcessLeft

    @property
    def listed(self) -> tuple[BackgroundJob, ...]:
        """Return the jobs of the shell."""
        return tuple(job for job in self.known if job.number)

    def end(self, pid: int, tree: FileTree, clock: Clock, *, listed: bool = True) -> None:
        """Note that the engine has run the job to its end: put the clock back, and keep what lies ahead.

        The shell lists it unless `listed` is false.
        """
        self._depth -= 1
        done = self._recording
        if done is None or self._depth > 0:
            return
        done.pause(tree, clock.moment)
        tree.replaced = None
        ends, self._recording, self._depth = clock.moment, None, 0
        clock.moment = done.started
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
            tuple(done.writes),
            output=tuple(done.output),
            level=done.level,
        )
        self.known = (*self._remembered(clock.moment), job)

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
        if job is None or job.level != level or piece.moment <= job.started:
            return False
        job.output.append(piece)
        return True

    def take_output(self, now: float, *, level: int) -> list[Printed]:
        """Return what the jobs of a shell have printed until now and nobody was told."""
        found = [piece for job in self.known if job.level == level for piece in job.output if piece.moment <= now]
        if found:
            self.known = tuple(
                replace(job, output=tuple(piece for piece in job.output if piece.moment > now))
                if job.level == level
                else job
                for job in self.known
            )
        return found

    def abandon(self, tree: FileTree, clock: Clock, *, level: int) -> None:
        """End what a stopped script of a shell left behind."""
        if self._recording is not None and self._recording.level == level:
            self._depth = 1
            self.end(0, tree, clock)

    def settle(self, tree: FileTree, now: float) -> None:
        """Let happen what jobs do until now. Call it whenever time has passed."""
        if self._recording is not None or not any(job.writes for job in self.known):
            return
        due = [(write.moment, job.pid, write) for job in self.known for write in job.writes if write.moment <= now]
        if not due:
            return
        self.known = tuple(
            replace(job, writes=tuple(write for write in job.writes if write.moment > now)) for job in self.known
        )
        for _, _, write in sorted(due, key=lambda one: one[:2]):
            _apply(tree, write)

    def kill(self, job: BackgroundJob, signal: int) -> None:
        """End a job: what it would still have done does not happen."""
        self.known = tuple(
            replace(one, killed=signal, writes=(), output=()) if one is job else one for one in self.known
        )

    def tell(self, now: float, told: BackgroundJob | None = None) -> None:
        """Note that the shell has told of a job that is over, or of all."""
        self.known = tuple(
            replace(job, told=True) if not job.running(now) and (told is None or job.pid == told.pid) else job
            for job in self.known
        )


def _apply(tree: FileTree, write: Write) -> None:
    for path in sorted(path for path, node in write.nodes.items() if node is None)[::-1]:
        if tree.get(path) is not None and not tree.names(path):
            tree.drop(path)
    for path in sorted(write.nodes):
        node = write.nodes[path]
        above = tree.get(path.rpartition("/")[0] or "/")
        if node is not None and above is not None and above.kind == "directory":
            before = write.before[path]
            # A new file that was not only added to replaces what others have made at its path meanwhile.
            new = path in write.replaced and (before is None or not before.content)
            tree.put(path, node if new else _grown(node, before, tree.get(path)))


def _grown(node: TreeNode, before: TreeNode | None, now: TreeNode | None) -> TreeNode:
    """Return a file that a job added to, with what others have added since."""
    if now is None or now is before or now.kind != "file" or node.kind != "file":
        return node
    found = b"" if before is None else before.content
    if not node.content.startswith(found):
        return node
    return replace(now, content=now.content + node.content[len(found) :], modified=node.modified)
