"""What a command costs as a process of its own: time by the clock, CPU time, memory (Unix)."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from time import perf_counter


@dataclass(frozen=True)
class Cost:
    """Seconds by the clock, seconds of CPU with all processes that it waited for, the most bytes that one of them held, and whether it came
    to its end within the limit."""

    wall: float
    cpu: float
    memory: int
    ended: bool


def cost(command: Sequence[str | Path], *, limit: float = 1800.0) -> Cost:
    """Run a command to its end, or for so many seconds. One that fails ends the benchmark with what it said last."""
    with tempfile.TemporaryFile("w+") as said:
        begun = perf_counter()
        process = subprocess.Popen(command, stdout=said, stderr=said, start_new_session=True)
        timer = Timer(limit, lambda: os.killpg(process.pid, signal.SIGKILL))
        timer.start()
        try:
            _, status, used = os.wait4(process.pid, 0)
        finally:
            timer.cancel()
        wall = perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        ended = process.returncode != -signal.SIGKILL
        if process.returncode and ended:
            said.seek(0)
            line = (said.read().strip().splitlines() or ["it said nothing"])[-1]
            raise SystemExit(f"{' '.join(map(str, command))} failed: {line}")
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, ended)
