"""What is made ready before a script that starts jobs in the background."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from copy import copy

from simtrain.worlds.machine.accounts import User
from simtrain.worlds.machine.job_origins import JobHost, JobOrigin
from simtrain.worlds.machine.job_records import JobRecords


@contextmanager
def starting_jobs(
    machine: JobHost,
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
    copies: dict[str, JobHost] = {}
    for one in machine.all:
        copies[one.name] = one.copy(clock, one.records, copies)
    state = None if save is None else save()
    origin = JobOrigin(
        copies, machine.name, clock, script, stdin, user, directory, environment, len(machine.running), state, pid
    )
    origins, before = jobs.origins, machine.records
    # What cron starts is beside all others, and no part of them.
    jobs.origins = (origin,) if pid else (*origins, origin)
    records = JobRecords(before, origin.answers, lambda: jobs.ask(machine))
    for one in machine.all:
        one.records = records
    try:
        yield
    finally:
        jobs.origins = origins
        for one in machine.all:
            one.records = before
