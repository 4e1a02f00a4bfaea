"""A program that plays one episode: started without a shell, its output read to the end, and killed with all its children."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import signal
from asyncio.subprocess import Process
from collections.abc import Mapping
from dataclasses import dataclass
from shutil import which
from tempfile import TemporaryFile
from typing import IO

from simtrain.mcp_wire.stdio import signal_group
from simtrain.values.errors import InputError, nearest

LONGEST = 1 << 20
"""Bytes that are kept of what a program says; the last ones."""

GRACE = 5.0
"""Seconds that a program has to end once it is told to."""

_FIELD = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended: its exit code (None: it had to be ended), and what it said on both streams."""

    code: int | None
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Command:
    """A program and its arguments; `{name}` in them is replaced by a fact of the episode."""

    words: tuple[str, ...]

    @staticmethod
    def read(text: str, *, fields: tuple[str, ...]) -> Command:
        """Return the command in a line, split as a shell splits it; no shell ever sees it. Raises InputError."""
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
        """Raise InputError if the program does not exist."""
        if which(self.words[0]) is None:
            raise InputError(f"there is no program {self.words[0]!r}", remedy="write the path to it, or install it")

    def filled(self, facts: Mapping[str, str]) -> list[str]:
        """Return the words with the facts in them; what a fact says is never split or read again."""
        return [_FIELD.sub(lambda found: facts[found[1]], word).replace("\0", "") for word in self.words]


async def run_program(
    words: list[str], *, variables: Mapping[str, str], prompt: str, timeout: float, over: asyncio.Event
) -> Ended:
    """Start a program with `prompt` on its standard input, and wait until it ends.

    It is ended after `timeout` real seconds, and GRACE seconds after `over` is set; what it started and left behind ends with it.
    Raises OSError where it cannot be started.
    """
    # Files and no pipes: whoever inherits a pipe can hold it open for ever.
    with TemporaryFile() as inward, TemporaryFile() as out, TemporaryFile() as err:
        inward.write(prompt.encode("utf-8", "replace"))
        inward.seek(0)
        process = await asyncio.create_subprocess_exec(
            *words, stdin=inward, stdout=out, stderr=err, env={**os.environ, **variables}, start_new_session=True
        )
        try:
            ended = await _ended(process, timeout=timeout, over=over)
        finally:
            await _end(process)
        return Ended(process.returncode if ended else None, _tail(out), _tail(err))


async def _ended(process: Process, *, timeout: float, over: asyncio.Event) -> bool:
    """True if it ended by itself."""
    waiting = asyncio.create_task(process.wait())
    ending = asyncio.create_task(over.wait())
    try:
        await asyncio.wait((waiting, ending), timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if ending.done() and not waiting.done():
            await asyncio.wait((waiting,), timeout=GRACE)
        return waiting.done()
    finally:
        ending.cancel()
        waiting.cancel()


async def _end(process: Process) -> None:
    """End the program, and whatever it left behind in its session."""
    signal_group(process, signal.SIGTERM)
    try:
        async with asyncio.timeout(GRACE):
            await process.wait()
    except TimeoutError:
        signal_group(process, signal.SIGKILL)
        await process.wait()
    signal_group(process, signal.SIGKILL)


def _tail(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - LONGEST))
    return file.read(LONGEST).decode("utf-8", "replace")
