"""The state of a schedule: what waits, what runs, what failed."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from rota.durations import parse_duration
from rota.errors import JobError
from rota.graph import Graph
from rota.jobs import Job
from rota.pools import Pool


@dataclass(frozen=True)
class Run:
    """One attempt of a job. `ended` is None while it runs; `outcome` says how it went."""

    job: str
    attempt: int
    planned: datetime
    started: datetime
    ended: datetime | None = None
    outcome: str = "running"

    @property
    def seconds(self) -> float:
        """How long it took."""
        return (self.ended - self.started).total_seconds() if self.ended else 0.0

    @property
    def late(self) -> float:
        """How many seconds after its time it began."""
        return (self.started - self.planned).total_seconds()


class Scheduler:
    """Jobs over a clock that only `advance` moves."""

    def __init__(self, now: datetime, *, pool: Pool | None = None, keep: int = 1000) -> None:
        self.now = now
        self.pool = pool or Pool()
        self.keep = keep
        self._jobs: dict[str, Job] = {}
        self._graph = Graph()
        self._next: dict[str, datetime] = {}
        self._attempts: dict[str, int] = {}
        self._planned: dict[str, datetime] = {}
        self._running: dict[str, Run] = {}
        self._done: dict[str, int] = {}
        self._seen: dict[str, dict[str, int]] = {}
        self._paused: set[str] = set()
        self._runs: list[Run] = []

    @property
    def names(self) -> list[str]:
        """All jobs."""
        return sorted(self._jobs)

    def add(self, job: Job) -> None:
        """Add a job; what it waits for must be there."""
        if job.name in self._jobs:
            raise JobError(f"{job.name} is there already")
        for other in job.after:
            self._known(other)
        self.pool.check(job.needs)
        self._jobs[job.name] = job
        self._graph.add(job.name, job.after)
        self._done[job.name] = 0
        self._seen[job.name] = {other: self._done[other] for other in job.after}
        self._plan(job.name, job.trigger.first(self.now))

    def add_all(self, jobs: Iterable[Job]) -> None:
        """Add jobs in whatever order they are given."""
        given = {job.name: job for job in jobs}
        order = Graph({name: job.after for name, job in given.items()}).order()
        for name in order:
            if name in given:
                self.add(given[name])

    def remove(self, name: str) -> None:
        """Remove a job that does not run and that no other waits for."""
        self._known(name)
        if name in self._running:
            raise JobError(f"{name} is running")
        behind = sorted(self._graph.behind(name))
        if behind:
            raise JobError(f"{behind[0]} waits for {name}")
        self._graph.remove(name)
        for table in (self._jobs, self._next, self._attempts, self._planned, self._seen):
            table.pop(name, None)
        self._paused.discard(name)

    def pause(self, name: str) -> None:
        """Start a job no more, until it is resumed."""
        self._known(name)
        self._paused.add(name)

    def resume(self, name: str) -> None:
        """Let a job go on; what it missed meanwhile is left out."""
        self._known(name)
        if name not in self._paused:
            raise JobError(f"{name} is not paused")
        self._paused.remove(name)
        planned = self._next.get(name)
        if planned is not None and planned < self.now:
            self._plan(name, self._jobs[name].trigger.following(planned, self.now))

    def advance(self, duration: str) -> datetime:
        """Let time pass; runs that take too long end."""
        self.now += timedelta(seconds=parse_duration(duration))
        for name, run in sorted(self._running.items()):
            allowed = self._jobs[name].seconds_allowed
            if allowed is not None and (self.now - run.started).total_seconds() > allowed:
                self._end(name, "timeout")
        return self.now

    def due(self) -> list[Job]:
        """Return the jobs that may start now: the highest priority first, then the earliest."""
        found = [job for name, job in self._jobs.items() if self._is_due(name)]
        return sorted(found, key=lambda job: (-job.priority, self._next[job.name], job.name))

    def _is_due(self, name: str) -> bool:
        at = self._next.get(name)
        if at is None or at > self.now or name in self._running or name in self._paused:
            return False
        if self._attempts.get(name, 0):
            return True
        seen = self._seen[name]
        return all(self._done[other] > seen[other] for other in self._jobs[name].after)

    def start_due(self, limit: int | None = None) -> list[Job]:
        """Start what is due and fits into the pool, at most `limit`; return what was started."""
        started: list[Job] = []
        for job in self.due():
            if limit is not None and len(started) >= limit:
                break
            if self.pool.take(job.name, job.needs):
                self._start(job)
                started.append(job)
        return started

    def _start(self, job: Job) -> None:
        attempt = self._attempts.get(job.name, 0) + 1
        self._attempts[job.name] = attempt
        if attempt == 1:
            self._seen[job.name] = {other: self._done[other] for other in job.after}
            self._planned[job.name] = self._next[job.name]
        self._running[job.name] = Run(job.name, attempt, self._next[job.name], self.now)

    def finish(self, name: str, *, ok: bool) -> Run:
        """Say how a run went; a failure is tried again as the job's `retry` says."""
        if name not in self._running:
            raise JobError(f"{name!r} does not run")
        return self._end(name, "ok" if ok else "failed")

    def _end(self, name: str, outcome: str) -> Run:
        job = self._jobs[name]
        run = replace(self._running.pop(name), ended=self.now, outcome=outcome)
        self._runs.append(run)
        del self._runs[: -self.keep]
        self.pool.give_back(name)
        wait = None if outcome == "ok" else job.retry.wait(run.attempt)
        if wait is not None:
            self._plan(name, self.now + timedelta(seconds=wait))
            return run
        if outcome == "ok":
            self._done[name] += 1
        self._attempts[name] = 0
        self._plan(name, job.trigger.following(self._planned.pop(name), self.now))
        return run

    def _plan(self, name: str, at: datetime | None) -> None:
        if at is None:
            self._next.pop(name, None)
        else:
            self._next[name] = at

    def next_time(self) -> datetime | None:
        """Return when the next job could start; None if there is none."""
        times = [
            at
            for name, at in self._next.items()
            if name not in self._running and name not in self._paused
        ]
        return max(self.now, min(times)) if times else None

    def next_of(self, name: str) -> datetime | None:
        """Return when a job could start next."""
        self._known(name)
        return self._next.get(name)

    def running(self) -> list[str]:
        """Return the names of the jobs that run."""
        return sorted(self._running)

    def runs(self, name: str | None = None, *, outcome: str | None = None) -> list[Run]:
        """Return the runs that have ended, oldest first."""
        return [
            run for run in self._runs if name in (None, run.job) and outcome in (None, run.outcome)
        ]

    def _known(self, name: str) -> Job:
        if name not in self._jobs:
            raise JobError(f"there is no job {name!r}")
        return self._jobs[name]
