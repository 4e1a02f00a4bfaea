"""Threads in which shells run: with a large stack, and watched.

The engine of a shell may not be entered twice in one thread, so a command that starts a shell needs another one. And what calls itself
by `eval`, or a script by its own path, grows the native stack without a limit of the engine's: left alone, it would end the whole process.
A thread that has such a stack runs a shell itself, which saves waking another one; a line that can do neither runs in any thread.
"""

import ctypes
import os
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from simtrain.values.watchdog import Watchdog
from simtrain.worlds.machine.deep_threads import STACK, deep_stacks
from simtrain.worlds.machine.engine import Ending

T = TypeVar("T")

DEEPEST = 32 * 1024 * 1024
"""Bytes of a stack after which what runs there is taken to call itself for ever. The rest is what it may grow by until it is stopped."""
MOST_SECONDS = 20.0
"""Most seconds of CPU that a script may take, without those of its children: more than any has that counts its commands."""
LOOK = 0.01
"""Seconds of the host between two looks at what runs longer."""
ROOM = 1024 * 1024
"""Bytes of a stack that a line takes at most which calls nothing: measured, below an eighth of it."""
QUICK = 0.0002
"""Seconds of the host in which no stack grows as deep as that."""
_MARK = bytes(256 * 1024)
_DONTNEED = 4
_this = threading.local()
_compared = ctypes.CDLL(None).memcmp
_compared.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t)


def runs_shell() -> bool:
    """Whether this thread runs a shell: then no engine may be made, asked or entered in it."""
    return getattr(_this, "runs", False)


def run_shell(work: Callable[[], T], *, stop: Callable[[Ending], None], calls_nothing: bool) -> T:
    """Return what a function returns that runs a shell, or raise what it raises: in this thread where that may be, else in another.

    `stop` is called from another thread if the function calls itself too deeply or takes too long, and if this thread is interrupted.
    """
    # What a handler of signals raises in the main thread (Ctrl-C) would be lost within the engine.
    if not runs_shell() and threading.current_thread() is not threading.main_thread():
        stack = _this_stack()
        if calls_nothing and stack.size >= ROOM:
            return _run_here(work)
        if stack.is_deep:
            return stack.watched(work, stop)
    return _in_another(work, stop)


def _run_here(work: Callable[[], T]) -> T:
    _this.runs = True
    try:
        return work()
    finally:
        _this.runs = False


def _in_another(work: Callable[[], T], stop: Callable[[Ending], None]) -> T:
    try:
        worker = _idle.pop()
    except IndexError:
        worker = _Worker()
    found: list[T] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            found.append(_this_stack().watched(work, stop))
        except BaseException as error:
            raised.append(error)

    worker.begin(run)
    try:
        worker.wait()
    except BaseException:
        stop("timeout")
        worker.wait()
        _idle.append(worker)
        raise
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
        with deep_stacks():
            threading.Thread(target=self._serve, name="shell", daemon=True).start()

    def begin(self, work: Callable[[], None]) -> None:
        """Let the thread do some work."""
        self._work = work
        self._asked.release()

    def wait(self) -> None:
        """Wait for the work. Whoever waits notices within a tenth of a second that Python is to handle a signal."""
        while not self._done.acquire(timeout=0.1):
            pass

    def _serve(self) -> None:
        while True:
            self._asked.acquire()
            work, self._work = self._work, None
            assert work is not None, "it is given before"
            work()
            # Held no longer than it runs: it leads to a whole episode.
            del work
            self._done.release()


class _Stack:
    """The stack of the thread that makes this, and the watch over what runs there."""

    def __init__(self) -> None:
        self._bottom, self.size = _own_stack()
        self.is_deep = self.size >= STACK
        self._mark = self._bottom + self.size - DEEPEST if self.size > 2 * DEEPEST else 0
        self._thread = threading.get_ident()
        self._stop: Callable[[Ending], None] | None = None
        self._began: float | None = None
        # Held during a look: until then the thread lives, and with it its stack.
        self._looked = threading.Lock()

    def watched(self, work: Callable[[], T], stop: Callable[[Ending], None]) -> T:
        """Return what a function returns that runs a shell in this thread, which is stopped where it grows too deep or takes too long."""
        self._stop, self._began = stop, None
        begun = time.monotonic()
        _watched.add(self)
        if not _watchdog.runs:
            _watchdog.start()
        try:
            return _run_here(work)
        finally:
            _watched.discard(self)
            with self._looked:
                self._stop = None
            if time.monotonic() - begun > QUICK and self._too_deep():
                self._renew()

    def look(self) -> None:
        """Stop what runs there if it must be. Again at each look: what is stopped may take its time to notice."""
        with self._looked:
            if self._stop is None:
                return
            if self._too_deep():
                self._stop("recursion")
            elif self._seconds() > MOST_SECONDS:
                self._stop("timeout")

    def _too_deep(self) -> bool:
        # Compared in place: a copy of the mark would take as long as a short line.
        return self._mark > 0 and _compared(self._mark, _MARK, len(_MARK)) != 0

    def _seconds(self) -> float:
        """Return the CPU time of the thread since the first look at this work; 0 where the system does not tell."""
        if not hasattr(time, "pthread_getcpuclockid"):
            return 0.0
        now = time.clock_gettime(time.pthread_getcpuclockid(self._thread))
        if self._began is None:
            self._began = now
        return now - self._began

    def _renew(self) -> None:
        """Give back what is below the mark, which else would look full for ever."""
        process = ctypes.CDLL(None)
        process.madvise(ctypes.c_void_p(self._bottom), ctypes.c_size_t(self._mark - self._bottom), _DONTNEED)
        ctypes.memset(self._mark, 0, len(_MARK))


def _this_stack() -> _Stack:
    found = getattr(_this, "stack", None)
    if found is None:
        found = _this.stack = _Stack()
    return found


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


def _look() -> bool:
    found = list(_watched)
    for stack in found:
        stack.look()
    return bool(found)


def _begin_anew() -> None:
    # A forked process has none of these threads, and one of them may have held the lock of a stack.
    _idle.clear()
    _watched.clear()
    _this.__dict__.pop("stack", None)


_watched: set[_Stack] = set()
_idle: list[_Worker] = []
_watchdog = Watchdog(_look, name="watch over shells", every=LOOK, patience=5)
os.register_at_fork(after_in_child=_begin_anew)
