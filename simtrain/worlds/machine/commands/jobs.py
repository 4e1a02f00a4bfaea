"""jobs, disown, and what stands behind `&`, `wait` and `kill %1`: jobs in the background, in virtual time."""

from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.job_origins import BackgroundJob


def job_begin(call: Invocation) -> Result:
    """Note that the engine begins to run a job. The exit code says whether it shall."""
    machine = call.machine
    command = call.arguments[0] if call.arguments else ""
    begun = machine.jobs.begin(machine, command, call.user.name, level=len(machine.running))
    if begun and not machine.jobs.within:
        # The end of the call is none of the job's.
        machine.jobs.deadline, machine.deadline = machine.deadline, None
    return Result(exit_code=0 if begun else 1)


def job_end(call: Invocation) -> Result:
    """Note the exit code of the job."""
    call.machine.jobs.code = int(call.arguments[0])
    return Result()


def job_name(call: Invocation) -> Result:
    """Note that the job is done by the engine, and its number as a process. The exit code says whether no other has that number."""
    machine = call.machine
    pid = int(call.arguments[0]) if call.arguments else 0
    if not machine.jobs.within:
        if any(job.pid == pid for job in machine.jobs.known):
            return Result(exit_code=1)
        machine.deadline = machine.jobs.deadline
    machine.jobs.end(machine, pid)
    return Result()


def job_wait(call: Invocation) -> Result:
    """Let time pass until some jobs are over, or all. The exit code is that of the last job."""
    jobs = call.machine.jobs
    words = [word for word in call.arguments if not word.startswith("-")]
    code = 0
    for word in words:
        job = found_job(call, word, over=True)
        if job is None:
            text = (
                f"wait: {word}: no such job"
                if word.startswith("%")
                else f"wait: pid {word} is not a child of this shell"
            )
            return Result(stderr=f"bash: line 1: {text}\n", exit_code=127)
        code = _code(call, job)
    if not words:
        running = [job for job in jobs.listed if job.running(call.moment) and _is_own(call, job)]
        if running and "-n" in call.arguments:
            code = _code(call, *running)
        else:
            for job in running:
                _code(call, job)
            jobs.tell(call.moment)
    return Result(exit_code=code)


def _is_own(call: Invocation, job: BackgroundJob) -> bool:
    """Return whether the shell has started a job itself, rather than one around it, or one before it."""
    level, jobs = len(call.machine.running), call.machine.jobs
    origin = jobs.origins[-1] if jobs.origins else jobs.second.origin if jobs.second is not None else None
    return job.level == level and (level < 2 or origin is None or job.started >= origin.clock.moment)


def _code(call: Invocation, *waited: BackgroundJob) -> int:
    """Let time pass until one of some jobs is over, and return its exit code. What other jobs do may change when that is."""
    machine = call.machine
    pids = [job.pid for job in waited]
    while True:
        now = call.moment
        jobs = [job for job in machine.jobs.listed if job.pid in pids]
        over = [job for job in jobs if not job.running(now)]
        if over:
            machine.jobs.tell(now, over[0])
            return 128 + over[0].killed if over[0].killed else over[0].code
        call.sleep(min(job.next for job in machine.jobs.known if job.running(now)) - now)
        if machine.deadline is not None and call.moment >= machine.deadline:
            return 0


def found_job(call: Invocation, word: str, *, over: bool = False) -> BackgroundJob | None:
    """Return the job that a word names: `%1`, `%+`, `%-`, `%name`, or the number of its process.

    With `over` it may be one that is over, where none that runs is meant and nobody was told.
    """
    known = call.machine.jobs.listed
    if not word.startswith("%"):
        return next((job for job in reversed(known) if str(job.pid) == word), None)
    running = [job for job in known if job.running(call.moment)]
    found = _named(running, word[1:])
    return _named([job for job in known if not job.told], word[1:]) if over and found is None else found


def _named(running: list[BackgroundJob], name: str) -> BackgroundJob | None:
    if name in ("", "%", "+"):
        return running[-1] if running else None
    if name == "-":
        return running[-2] if len(running) > 1 else running[-1] if running else None
    if name.isdigit():
        return next((job for job in reversed(running) if job.number == int(name)), None)
    fits = [
        job for job in running if (name[1:] in job.command if name.startswith("?") else job.command.startswith(name))
    ]
    return fits[-1] if fits else None


def jobs(call: Invocation) -> Result:
    """List the jobs. Those that are over are told once."""
    now = call.moment
    known = [job for job in call.machine.jobs.listed if not job.told]
    options = "".join(word[1:] for word in call.arguments if word.startswith("-"))
    shown = [job for job in known if "r" not in options or job.running(now)]
    if "p" in options:
        return Result("".join(f"{job.pid}\n" for job in shown))
    lines: list[str] = []
    current = [job for job in known if job.running(now)] or known
    for job in shown:
        sign = "+" if job is current[-1] else "-" if len(current) > 1 and job is current[-2] else " "
        state = "Running" if job.running(now) else "Terminated" if job.killed else "Done"
        pid = f" {job.pid}" if "l" in options else " "
        rest = f"{job.command} &" if state == "Running" else job.command
        lines.append(f"[{job.number}]{sign} {pid}{' ' if 'l' in options else ''}{state:<24}{rest}\n")
    call.machine.jobs.tell(now)
    return Result("".join(lines))


def disown(call: Invocation) -> Result:
    """Take jobs off the list; here none of them would be ended with the shell."""
    for word in [word for word in call.arguments if not word.startswith("-")] or ["%+"]:
        if found_job(call, word) is None:
            shown = "current" if word == "%+" else word
            return Result(stderr=f"bash: line 1: disown: {shown}: no such job\n", exit_code=1)
    return Result()
