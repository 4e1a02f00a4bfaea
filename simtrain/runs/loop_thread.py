"""An event loop in a thread of its own, for synchronous callers."""

import asyncio
from collections.abc import Coroutine, Generator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, contextmanager
from threading import Thread, current_thread
from typing import Any, TypeVar
from weakref import finalize

from simtrain.values.errors import InputError

ResultT = TypeVar("ResultT")


class LoopThread:
    """Runs coroutines for callers in other threads, until it is closed, collected, or the process ends."""

    def __init__(self, name: str) -> None:
        """`name` stands for its owner in error messages."""
        self._name = name
        self._loop = loop = asyncio.new_event_loop()
        self._thread = Thread(target=_work, args=(loop,), name=name, daemon=True)
        self._thread.start()
        # The loop would otherwise run on if the owner is forgotten without `close`.
        self._end = finalize(self, loop.call_soon_threadsafe, loop.stop)

    def run(self, coroutine: Coroutine[Any, Any, ResultT]) -> ResultT:
        """Run a coroutine to its end; return its result, or raise its exception. Raises InputError if the loop has ended: after `close`,
        or in a process that was forked from the one that made it.
        """
        problem = self._problem()
        if problem is not None:
            # Or Python would warn of a coroutine that was never awaited.
            coroutine.close()
            raise problem
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    @contextmanager
    def within(self, block: AbstractAsyncContextManager[ResultT]) -> Generator[ResultT]:
        """Keep an asynchronous context manager entered during this block. Raises as `run` does, and what entering or leaving raises."""
        entered: Future[ResultT] = Future()
        leave = self.run(_event())

        async def keep() -> None:
            async with block as result:
                entered.set_result(result)
                await leave.wait()

        # One task enters and leaves, as timeouts and task groups require.
        kept = asyncio.run_coroutine_threadsafe(keep(), self._loop)
        kept.add_done_callback(lambda ended: entered.done() or entered.set_exception(_raised(ended)))
        try:
            yield entered.result()
        finally:
            self._loop.call_soon_threadsafe(leave.set)
            kept.result()

    def _problem(self) -> Exception | None:
        if not self._end.alive:
            return InputError(f"the {self._name} are closed", remedy="make new ones")
        # A fork copies only the thread that called it.
        if not self._thread.is_alive():
            return InputError(f"the {self._name} belong to another process", remedy="make new ones in this one")
        # The loop could not go on while its own thread waits for it.
        if current_thread() is self._thread:
            return RuntimeError(f"the {self._name} cannot wait for themselves: their own thread made this call")
        return None

    def close(self) -> None:
        """End the loop and wait until it has ended; closing twice is fine."""
        self._end()
        if current_thread() is not self._thread:
            self._thread.join()


async def _event() -> asyncio.Event:
    return asyncio.Event()


def _raised(ended: Future[None]) -> BaseException:
    return ended.exception() or RuntimeError("the block ended before it was entered")


def _work(loop: asyncio.AbstractEventLoop) -> None:
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.get_loop().run_forever()
