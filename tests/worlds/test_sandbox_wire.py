"""What passes between a sandbox and its runs: on a busy machine either side may be held up between any two of its steps."""

from __future__ import annotations

import socket
import threading
import time

from simtrain.contracts.sandbox_runs import SandboxCommand
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
