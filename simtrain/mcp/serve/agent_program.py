"""A program that plays one episode. It is started without a shell, and killed with all its children in the end."""

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
"""Bytes. Of a longer output only the end is kept."""

GRACE = 5.0
"""Seconds that a program has to end after it was told to."""

_FIELD = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class Ended:
    """The result of a program: exit code (None if it had to be ended), standard output and standard error."""

    code: int | None
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Command:
    """A program and its arguments, with `{name}` for facts of the episode."""

    words: tuple[str, ...]

    @staticmethod
    def read(text: str, *, fields: tuple[str, ...]) -> Command:
        """Return a command line, split as by a shell, though none ever sees it. Raises InputError."""
        try:
            words = tuple(shlex.split(text))
        except ValueError as error:
            raise InputError(f"the command {text!r} cannot be read: {error}") from None
        if not words:
            raise InputError("there is no command", remedy="write it like mcp:'python my_agent.py'")
        for field in (found for word in words for found in _FIELD.findall(word)):
            if field not in fields:
                raise InputError(f"unknown field {{{field}}} in the command", remedy=nearest(field, fields))
        return Command(words)

    def check(self) -> None:
        """Raise InputError if the program does not exist."""
        if which(self.words[0]) is None:
            raise InputError(f"there is no program {self.words[0]!r}", remedy="write the path to it, or install it")

    def filled(self, facts: Mapping[str, str]) -> list[str]:
        """Return the words with facts filled in. A fact is never split or expanded again."""
        # Splitting came first, so that a prompt with quotes and spaces stays one argument. A NUL cannot be passed to a program.
        return [_FIELD.sub(lambda found: facts[found[1]], word).replace("\0", "") for word in self.words]


async def run_program(
    words: list[str], *, variables: Mapping[str, str], prompt: str, timeout: float, over: asyncio.Event
) -> Ended:
    """Start a program with `prompt` on its standard input, and wait until it ends.

    It is killed after `timeout` real seconds, or GRACE seconds after `over` is set, with all processes that it started. Raises OSError
    if it cannot be started.
    """
    # Files, not pipes: a child that inherits a pipe could hold it open for ever.
    with TemporaryFile() as inward, TemporaryFile() as out, TemporaryFile() as err:
        inward.write(prompt.encode("utf-8", "replace"))
        inward.seek(0)
        # A session of its own, so that one signal reaches the program with all its children.
        process = await asyncio.create_subprocess_exec(
            *words, stdin=inward, stdout=out, stderr=err, env={**os.environ, **variables}, start_new_session=True
        )
        try:
            ended = await _ended(process, timeout=timeout, over=over)
        finally:
            await _end(process)
        return Ended(process.returncode if ended else None, _tail(out), _tail(err))


async def _ended(process: Process, *, timeout: float, over: asyncio.Event) -> bool:
    """Return True if the program ended by itself."""
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
    """End the program and all processes left in its session."""
    signal_group(process, signal.SIGTERM)
    try:
        async with asyncio.timeout(GRACE):
            await process.wait()
    except TimeoutError:
        signal_group(process, signal.SIGKILL)
        await process.wait()
    # Once more: children may have ignored SIGTERM after the program itself ended.
    signal_group(process, signal.SIGKILL)


def _tail(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - LONGEST))
    return file.read(LONGEST).decode("utf-8", "replace")
