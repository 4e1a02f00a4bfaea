"""The warm process: holds the component in memory, and forks one child for each run.

`python -m simtrain.worlds.sandbox.wasm.warm FD FOLDER`: FD is a socket over which each message brings the socket of one run. It ends when
the other side closes it, with every run that is still going.
"""

import gc
import json
import os
import selectors
import signal
import socket
import sys
import tempfile
from contextlib import suppress

from simtrain.worlds.sandbox.scratch import remove
from simtrain.worlds.sandbox.wasm.component import found_component
from simtrain.worlds.sandbox.wasm.play import play_and_exit
from simtrain.worlds.sandbox.wasm.prepared import PreparedComponent

READY = b"ready"
_MEMORY = "/dev/shm"
"""Where Linux keeps files in memory: on a disk, files that live for a moment cost more than the run that they are for."""


def main(fd: int) -> None:
    """Serve runs until the socket closes. What is said first is READY and the folders in which files may lie."""
    control = socket.socket(fileno=fd)
    built = found_component()
    if built is None:
        control.sendall(b"the component is not built")
        return
    prepared = PreparedComponent(built)
    roots = [tempfile.mkdtemp(prefix="simtrain-sandbox-", dir=place) for place in _places()]
    for root in roots:
        # A run that has become nobody goes through it.
        os.chmod(root, 0o711)
    # A terminal's Ctrl-C goes to the whole group: the other side decides when this ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    children: set[int] = set()
    wake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    gc.collect()
    gc.freeze()
    control.sendall(READY + json.dumps(roots).encode())
    try:
        with selectors.DefaultSelector() as waiting:
            waiting.register(control, selectors.EVENT_READ)
            waiting.register(wake, selectors.EVENT_READ)
            while True:
                ready = {key.fileobj for key, _ in waiting.select()}
                if wake in ready:
                    os.read(wake, 4096)
                    _reap(children)
                if control not in ready:
                    continue
                message, fds, _, _ = socket.recv_fds(control, 1, 1)
                if not message:
                    return
                child = os.fork()
                if not child:
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    control.close()
                    play_and_exit(socket.socket(fileno=fds[0]), prepared)
                children.add(child)
                os.close(fds[0])
    finally:
        for child in children:
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
        for root in roots:
            for place in os.listdir(root):
                remove(f"{root}/{place}")
            with suppress(OSError):
                os.rmdir(root)


def _places() -> list[str | None]:
    """Return the folders of the host in which runs may keep their files, the quickest first; None is the one for temporary files."""
    shared = sys.platform == "linux" and os.access(_MEMORY, os.W_OK | os.X_OK) and os.path.ismount(_MEMORY)
    return [_MEMORY, None] if shared else [None]


def _reap(children: set[int]) -> None:
    for child in list(children):
        done, _ = os.waitpid(child, os.WNOHANG)
        if done:
            children.discard(child)


if __name__ == "__main__":
    main(int(sys.argv[1]))
