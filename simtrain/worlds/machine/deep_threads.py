"""Threads with a large stack, in which calls of machine worlds are answered, and their shells run."""

import asyncio
import os
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from typing import Any, Final, TypeVar

T = TypeVar("T")

STACK: Final = 256 * 1024 * 1024
"""Bytes of address space for a stack. Memory is taken only for what is used."""
_starting = threading.Lock()


@contextmanager
def deep_stacks() -> Generator[None]:
    """Return a block in which threads that are started get STACK bytes."""
    with _starting:
        before = threading.stack_size(STACK)
        try:
            yield
        finally:
            threading.stack_size(before)


class DeepThreads(ThreadPoolExecutor):
    """An executor whose threads have such a stack."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Let a thread call a function."""
        with deep_stacks():
            return super().submit(fn, *args, **kwargs)


async def in_deep_thread(work: Callable[[], T]) -> T:
    """Return what a function returns that runs in such a thread, while other tasks go on."""
    return await asyncio.get_running_loop().run_in_executor(_threads, partial(copy_context().run, work))


def _made() -> DeepThreads:
    # No more than can compute at once: each takes its part of the address space, which may be limited.
    return DeepThreads(min(32, max(2, os.cpu_count() or 1)), "answers")


def _begin_anew() -> None:
    # A forked process has none of the threads, and one of them may have held the lock.
    global _starting, _threads
    _starting, _threads = threading.Lock(), _made()


_threads = _made()
os.register_at_fork(after_in_child=_begin_anew)
