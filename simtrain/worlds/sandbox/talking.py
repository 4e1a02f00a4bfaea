"""What is said with a program that runs: its standard input written, both its streams read up to a limit, the time watched."""

import os
import selectors
import time
from collections.abc import Callable
from subprocess import Popen
from typing import IO, cast

from simtrain.contracts.sandbox_runs import Ending

LOOKS = 0.05
"""Seconds between two looks at what a run has used."""
Pieces = list[tuple[int, bytes]]


def talk(
    process: Popen[bytes], stdin: bytes, *, room: int, over: Callable[[float], Ending | None]
) -> tuple[Pieces, Ending | None]:
    """Return what a process wrote, with the numbers of its streams, and the limit that it went beyond before it ended.

    `room` is the most bytes of output; `over` is asked with the seconds that have passed. The process is not ended.
    """
    begun = looked = time.monotonic()
    waiting = memoryview(stdin)
    pipes = (process.stdin, process.stdout, process.stderr)
    given, *outs = (cast("IO[bytes]", pipe) for pipe in pipes)
    output: Pieces = []
    with selectors.DefaultSelector() as ready:
        for stream, pipe in enumerate(outs, start=1):
            os.set_blocking(pipe.fileno(), False)
            ready.register(pipe, selectors.EVENT_READ, stream)
        os.set_blocking(given.fileno(), False)
        if waiting:
            ready.register(given, selectors.EVENT_WRITE, 0)
        else:
            given.close()
        while ready.get_map():
            for key, _ in ready.select(LOOKS):
                if not key.data:
                    try:
                        waiting = waiting[os.write(given.fileno(), waiting[:65_536]) :]
                    except BrokenPipeError:
                        waiting = waiting[:0]
                    if not waiting:
                        ready.unregister(given)
                        given.close()
                    continue
                pipe = cast("IO[bytes]", key.fileobj)
                part = os.read(pipe.fileno(), 65_536)
                if not part:
                    ready.unregister(pipe)
                    pipe.close()
                    continue
                output.append((int(key.data), part[: max(room, 0)]))
                room -= len(part)
            if room < 0:
                return output, "output"
            now = time.monotonic()
            if now - looked > LOOKS:
                looked = now
                ended_by = over(now - begun)
                if ended_by is not None:
                    return output, ended_by
    return output, None
