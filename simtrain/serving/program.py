"""A program that plays one episode: started without a shell, heard to its end, and ended with all that it started."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from dataclasses import dataclass
from shutil import which

from simtrain.errors import InputError, nearest

LONGEST = 1 << 20
"""Bytes that are kept of what a program says; the last ones."""

GRACE = 5.0
"""Seconds that a program has to end once it is told to, and its pipes once it has ended."""

_FIELD = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended: its exit code (None: it had to be ended), and what it said on both streams."""

    code: int | None
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Command:
    """A program and its arguments, in which `{name}` stands for a fact of the episode."""

    words: tuple[str, ...]

    @staticmethod
    def read(text: str, *, fields: tuple[str, ...]) -> Command:
        """The command in a line, split as a shell splits it; no shell ever sees it. Raises InputError."""
        try:
            words = tuple(shlex.split(text))
        except ValueError as error:
            raise InputError(f"the command {text!r} cannot be read: {error}") from None
        if not words:
            raise InputError("there is no command", remedy="write it like mcp:'python my_agent.py'")
        for field in (found for word in words for found in _FIELD.findall(word)):
            if field not in fields:
                raise InputError(f"the command knows no {{{field}}}", remedy=nearest(field, fields))
        return Command(words)

    def check(self) -> None:
        """Raises InputError where there is no such program."""
        if which(self.words[0]) is None:
            raise InputError(f"there is no program {self.words[0]!r}", remedy="write the path to it, or install it")

    def filled(self, facts: Mapping[str, str]) -> list[str]:
        """The words with the facts in them; what a fact says is never split or read again."""
        return [_FIELD.sub(lambda found: facts[found[1]], word).replace("\0", "") for word in self.words]


async def run_program(
    words: list[str], *, variables: Mapping[str, str], told: str, timeout: float, over: asyncio.Event
) -> Ended:
    """Start a program, tell it `told` on standard input, and hear it to its end.

    It is ended after `timeout` real seconds, and GRACE seconds after `over` is set. Raises OSError where it cannot be started.
    """
    process = await asyncio.create_subprocess_exec(
        *words, stdin=PIPE, stdout=PIPE, stderr=PIPE, env={**os.environ, **variables}, start_new_session=True
    )
    out, err = bytearray(), bytearray()
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    talking = [
        asyncio.create_task(_tell(process.stdin, told.encode("utf-8", "replace"))),
        asyncio.create_task(_hear(process.stdout, out)),
        asyncio.create_task(_hear(process.stderr, err)),
    ]
    try:
        ended = await _ended(process, timeout=timeout, over=over)
        await asyncio.wait(talking, timeout=GRACE)
    finally:
        await _end(process)
        for task in talking:
            task.cancel()
        await asyncio.gather(*talking, return_exceptions=True)
    return Ended(process.returncode if ended else None, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))


async def _ended(process: Process, *, timeout: float, over: asyncio.Event) -> bool:
    """Whether it ended by itself."""
    waiting = asyncio.create_task(process.wait())
    told = asyncio.create_task(over.wait())
    try:
        await asyncio.wait((waiting, told), timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if told.done() and not waiting.done():
            await asyncio.wait((waiting,), timeout=GRACE)
        return waiting.done()
    finally:
        told.cancel()
        waiting.cancel()


async def _end(process: Process) -> None:
    """End the program, and whatever it left behind in its session."""
    _signal(process, signal.SIGTERM)
    try:
        async with asyncio.timeout(GRACE):
            await process.wait()
    except TimeoutError:
        _signal(process, signal.SIGKILL)
        await process.wait()
    _signal(process, signal.SIGKILL)


def _signal(process: Process, number: signal.Signals) -> None:
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        # Nobody is left in the session.
        return


async def _tell(stream: asyncio.StreamWriter, told: bytes) -> None:
    """Say something and close; a program that does not listen is none the worse."""
    try:
        stream.write(told)
        await stream.drain()
        stream.close()
        await stream.wait_closed()
    except OSError:
        return


async def _hear(stream: asyncio.StreamReader, heard: bytearray) -> None:
    while chunk := await stream.read(1 << 16):
        heard += chunk
        del heard[:-LONGEST]
