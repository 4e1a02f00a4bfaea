"""What passes between a sandbox and its runs: on a busy machine either side may be held up between any two of its steps."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sandboxes import opened

from simtrain.contracts.sandbox_runs import SandboxCommand, SandboxLimits
from simtrain.worlds.sandbox.wasm.backend import WarmProcess
from simtrain.worlds.sandbox.wasm.wire import placed, receive_command, send_command


class HeldUp(socket.socket):
    """A socket whose owner is not run for a while after each part that it sends."""

    def sendall(self, data: object, flags: int = 0) -> None:
        super().sendall(data, flags)  # pyright: ignore[reportArgumentType]
        time.sleep(0.2)


def test_a_run_may_be_over_before_the_one_who_asked_goes_on() -> None:
    ours, theirs = socket.socketpair()
    asking = HeldUp(fileno=ours.detach())
    command = placed(SandboxCommand(("true",)), place="/nowhere", fresh=0, modes={})
    received: list[tuple[str, ...]] = []

    def run() -> None:
        with theirs:
            received.append(receive_command(theirs).argv)

    thread = threading.Thread(target=run)
    thread.start()
    with asking:
        send_command(asking, command)
    thread.join()
    assert received == [("true",)]


@pytest.mark.full
def test_a_run_that_stood_still_beyond_its_wall_time_ends_by_it() -> None:
    limits = SandboxLimits(wall=1, seconds=10**6, work=10**3)
    with opened("wasm") as running, ThreadPoolExecutor(1) as threads:
        assert isinstance(running, WarmProcess)
        ran = threads.submit(running.run, SandboxCommand(("python3", "-c", "while True: pass"), limits=limits))
        children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
        while not children.read_text():
            time.sleep(0.01)
        (run,) = map(int, children.read_text().split())
        time.sleep(0.3)
        os.kill(run, signal.SIGSTOP)
        # Until the kernel's limit, ten seconds after ours, is due as well.
        time.sleep(11)
        os.kill(run, signal.SIGCONT)
        outcome = ran.result()
    assert (outcome.ended_by, outcome.exit_code, outcome.exact) == ("wall", 137, False)
