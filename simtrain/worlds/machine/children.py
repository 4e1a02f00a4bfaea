"""Threads in which shells run: with a large stack, and watched by the thread that waits for them.

The engine of a shell may not be entered twice in one thread, so a command that starts a shell needs another one. And what calls itself
by `eval`, or a script by its own path, grows the native stack without a limit of the engine's: left alone, it would end the whole process.
A line that can do neither may run in the thread that asks for it, which saves waking another one.
"""

import ctypes
import os
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from simtrain.worlds.machine.engine import Ending

T = TypeVar("T")

STACK = 256 * 1024 * 1024
"""Bytes of address space for a stack. Memory is taken only for what is used."""
DEEPEST = 32 * 1024 * 1024
"""Bytes of a stack after which what runs there is taken to call itself for ever. The rest is what it may grow by until it is stopped."""
MOST_SECONDS = 20.0
"""Most seconds of CPU that a script may take, without those of its children: more than any has that counts its commands."""
LOOK = 0.01
"""Seconds of the host between two looks at what runs longer."""
ROOM = 1024 * 1024
"""Bytes of a stack that a line takes at most which calls nothing: measured, below an eighth of it."""
_MARK = bytes(256 * 1024)
_starting = threading.Lock()
_idle: list["_Worker"] = []
# A child process has none of these threads.
os.register_at_fork(after_in_child=_idle.clear)
_this = threading.local()


def runs_shell() -> bool:
    """Whether this thread runs a shell: then no engine may be made, asked or entered in it."""
    return getattr(_this, "runs", False)


def has_room() -> bool:
    """Whether a line that calls nothing may run in this thread: its stack is large enough, and Python handles no signals in it.

    What a handler raises in the main thread (Ctrl-C) would be lost within the engine.
    """
    if threading.current_thread() is threading.main_thread():
        return False
    if not hasattr(_this, "roomy"):
        _this.roomy = _own_stack()[1] >= ROOM
    return bool(_this.roomy)


def run_here(work: Callable[[], T]) -> T:
    """Return what a function returns that runs a shell in this thread, which runs none yet and has room."""
    _this.runs = True
    try:
        return work()
    finally:
        _this.runs = False


def in_thread(work: Callable[[], T], *, stop: Callable[[Ending], None]) -> T:
    """Return what a function returns that runs in another thread, or raise what it raises.

    `stop` is called from here if the function calls itself too deeply, takes too long, or if this thread is interrupted.
    """
    try:
        worker = _idle.pop()
    except IndexError:
        worker = _Worker()
    found: list[T] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:
            raised.append(error)

    worker.begin(run)
    try:
        while not worker.ended(LOOK):
            # Again at each look: what is stopped may take its time to notice.
            if worker.too_deep:
                stop("recursion")
            elif worker.seconds > MOST_SECONDS:
                stop("timeout")
    except BaseException:
        stop("timeout")
        worker.wait()
        worker.leave()
        raise
    if worker.too_deep:
        # Its stack would look full for ever.
        worker.leave()
    else:
        _idle.append(worker)
    if raised:
        raise raised[0]
    return found[0]


class _Worker:
    """A thread that does one piece of work after another."""

    def __init__(self) -> None:
        self._work: Callable[[], None] | None = None
        self._asked, self._done = threading.Lock(), threading.Lock()
        self._asked.acquire()
        self._done.acquire()
        self._mark = 0
        self._clock: int | None = None
        self._began = 0.0
        self._thread = threading.Thread(target=self._serve, name="shell", daemon=True)
        with _starting:
            before = threading.stack_size(STACK)
            try:
                self._thread.start()
            finally:
                threading.stack_size(before)

    def begin(self, work: Callable[[], None]) -> None:
        """Let the thread do some work."""
        self._work, self._clock = work, None
        self._asked.release()

    def ended(self, seconds: float) -> bool:
        """Wait for the work at most so long, and return whether it is done."""
        return self._done.acquire(timeout=seconds)

    def wait(self) -> None:
        """Wait for the work."""
        self._done.acquire()

    def leave(self) -> None:
        """End the thread, which does nothing at the moment."""
        self._work = None
        self._asked.release()

    @property
    def seconds(self) -> float:
        """Return the CPU time of the thread since it was first asked for during this work; 0 where the system does not tell."""
        if self._clock is None:
            if not hasattr(time, "pthread_getcpuclockid") or self._thread.ident is None:
                return 0.0
            self._clock = time.pthread_getcpuclockid(self._thread.ident)
            self._began = time.clock_gettime(self._clock)
        return time.clock_gettime(self._clock) - self._began

    @property
    def too_deep(self) -> bool:
        """Whether the stack has grown beyond DEEPEST."""
        return self._mark > 0 and ctypes.string_at(self._mark, len(_MARK)) != _MARK

    def _serve(self) -> None:
        _this.runs = True
        bottom, size = _own_stack()
        self._mark = bottom + size - DEEPEST if size > 2 * DEEPEST else 0
        while True:
            self._asked.acquire()
            work, self._work = self._work, None
            if work is None:
                return
            work()
            # Held no longer than it runs: it leads to a whole episode.
            del work
            self._done.release()


def _own_stack() -> tuple[int, int]:
    """Return where the stack of this thread begins in memory, and its size; zeros where the system does not tell."""
    process = ctypes.CDLL(None)
    thread = ctypes.c_void_p(threading.get_ident())
    if hasattr(process, "pthread_getattr_np"):
        attributes = ctypes.create_string_buffer(256)
        bottom, size = ctypes.c_void_p(), ctypes.c_size_t()
        if process.pthread_getattr_np(thread, attributes) == 0:
            process.pthread_attr_getstack(attributes, ctypes.byref(bottom), ctypes.byref(size))
            process.pthread_attr_destroy(attributes)
            return bottom.value or 0, size.value
    if hasattr(process, "pthread_get_stackaddr_np"):
        top_of, size_of = process.pthread_get_stackaddr_np, process.pthread_get_stacksize_np
        top_of.restype, size_of.restype = ctypes.c_void_p, ctypes.c_size_t
        size = int(size_of(thread))
        return int(top_of(thread)) - size, size
    return 0, 0
