"""Child processes of a shell: each runs in a thread of its own, while the thread of its parent waits."""

from collections.abc import Callable
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


def in_thread(work: Callable[[], T]) -> T:
    """Return what a function returns that runs in another thread, or raise what it raises.

    The engine of a shell may not be entered twice in one thread, so a command that starts a shell needs another.
    """
    found: list[T] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:
            raised.append(error)

    thread = Thread(target=run, name="shell")
    thread.start()
    thread.join()
    if raised:
        raise raised[0]
    return found[0]
