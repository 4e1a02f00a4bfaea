"""A real terminal behind a command that the user names, such as `docker exec -it box bash`: keystrokes in, its screen out."""

import asyncio
import codecs
import contextlib
import fcntl
import itertools
import os
import pty
import signal
import struct
import sys
import termios
from asyncio.subprocess import Process
from collections.abc import Mapping, Sequence
from pathlib import Path
from secrets import randbelow

from simtrain.mcp_wire.stdio import signal_group
from simtrain.values.errors import SimulatorFault
from simtrain.values.types import JsonObject, JsonValue, Observation, is_object
from simtrain.world_models.domains.keystrokes import at_prompt
from simtrain.world_models.left_behind import terminal_ending
from simtrain.worlds.machine.keystrokes import DURATION
from simtrain.worlds.machine.terminal.keys import characters
from simtrain.worlds.machine.terminal.screen import COLUMNS, ROWS, TerminalScreen

QUIET = 0.15
"""Seconds without output after which a screen is taken to be complete, once the time of an entry is up."""
_STARTING = 30.0
_REDRAWING = 2.0
_ENDING = 20.0
_RETELLING = 0.5
# Makes its standard input the terminal that Ctrl-C and job control go to, which only the process itself can do.
# What runs in the background ignores the signals of keys, and would hand that down: Ctrl-C could end nothing here.
_LEADER = (
    "import fcntl, os, signal, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "signal.signal(signal.SIGINT, signal.SIG_DFL); signal.signal(signal.SIGQUIT, signal.SIG_DFL); "
    "os.execvp(sys.argv[1], sys.argv[1:])"
)


class RealTerminal:
    """A pseudo-terminal with a program in it, started when it is first needed. Durations are real seconds."""

    def __init__(self, command: Sequence[str], *, environment: Mapping[str, str], directory: Path | None) -> None:
        """Name the command that starts a bash on a terminal."""
        self._command = command
        self._environment = {**environment, "TERM": "xterm-256color", "LINES": str(ROWS), "COLUMNS": str(COLUMNS)}
        self._directory = directory
        self._process: Process | None = None
        self._handle = -1
        self._screen = TerminalScreen()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._heard = asyncio.Event()
        self._over = False

    async def type(self, entries: Sequence[JsonValue]) -> Observation:
        """Type entries, each followed by its duration, and return the screen. Raises SimulatorFault if no program can be started.

        Where the program has ended, another one begins below what it has left on the screen.
        """
        if self._over:
            await self._end()
            self._screen.feed("\r\n")
        if self._process is None:
            await self._start()
        for entry in entries:
            if not is_object(entry):
                continue
            self._write(characters(str(entry["keystrokes"])).replace("\n", "\r"))
            await asyncio.sleep(_seconds(entry))
        await self._settled()
        return self._seen()

    async def close(self) -> None:
        """End the program and what it has started."""
        if self._process is None:
            return
        if self._process.returncode is None and self._through_client:
            columns = 1000 + randbelow(8000)
            telling = asyncio.create_task(self._tell_width(columns))
            try:
                other = RealTerminal(self._command, environment=self._environment, directory=self._directory)
                with contextlib.suppress(SimulatorFault):
                    await other.type([{"keystrokes": terminal_ending(columns), "duration": 0}])
                # The line ends with its own bash, and so with the client: one that is cut off before may not have passed it on.
                if other._process is not None:
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(other._process.wait(), _ENDING)
                await other._end()
            finally:
                telling.cancel()
        await self._end()

    async def _tell_width(self, columns: int) -> None:
        # A width that no other terminal there has: a client passes it on, but not its own end. It may lose one, and tells only changes.
        for rows in itertools.count(1000):
            _resize(self._handle, rows, columns)
            await asyncio.sleep(_RETELLING)

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        asyncio.get_running_loop().remove_reader(self._handle)
        os.close(self._handle)
        signal_group(process, signal.SIGKILL)
        await process.wait()

    @property
    def _through_client(self) -> bool:
        """Whether the bash may be another's process: this machine's own ends with its terminal."""
        return Path(self._command[0]).name != "bash"

    async def _start(self) -> None:
        self._over = False
        self._handle, inner = pty.openpty()
        _resize(inner, ROWS, COLUMNS)
        try:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-c",
                _LEADER,
                *self._command,
                stdin=inner,
                stdout=inner,
                stderr=inner,
                env=self._environment,
                cwd=self._directory,
                start_new_session=True,
            )
        except OSError as error:
            os.close(self._handle)
            raise SimulatorFault(f"the terminal cannot be started: {error.strerror}") from None
        finally:
            os.close(inner)
        os.set_blocking(self._handle, False)
        asyncio.get_running_loop().add_reader(self._handle, self._read)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._first_prompt(), _STARTING)
        if self._process.returncode is not None:
            shown = self._screen.text().strip()
            await self.close()
            raise SimulatorFault(f"no terminal answers behind {self._command[0]!r}: {shown[-300:]}")
        if self._through_client:
            await self._size_passed_on()

    async def _size_passed_on(self) -> None:
        # Docker's client gives up telling the size of a terminal that is slow to come. A change is told again, and bash redraws its prompt.
        for columns in (COLUMNS - 1, COLUMNS):
            _resize(self._handle, ROWS, columns)
            await self._heard_within(_REDRAWING)
        await self._settled()

    async def _first_prompt(self) -> None:
        process = self._process
        while process is not None and process.returncode is None and not self._prompted:
            await self._heard_within(QUIET)
        await self._settled()

    @property
    def _prompted(self) -> bool:
        return at_prompt(self._screen.lines()[self._screen.cursor[0]])

    async def _settled(self) -> None:
        while await self._heard_within(QUIET):
            pass

    async def _heard_within(self, seconds: float) -> bool:
        self._heard.clear()
        try:
            await asyncio.wait_for(self._heard.wait(), seconds)
        except TimeoutError:
            return False
        return True

    def _read(self) -> None:
        try:
            data = os.read(self._handle, 2**16)
        except BlockingIOError:
            return
        except OSError:
            # Linux says so when the program has ended.
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._handle)
            self._over = True
            return
        self._screen.feed(self._decoder.decode(data))
        self._heard.set()

    def _write(self, text: str) -> None:
        # If it has ended, the screen shows how.
        with contextlib.suppress(OSError):
            os.write(self._handle, text.encode(errors="replace"))

    def _seen(self) -> Observation:
        text = self._screen.text()
        row, column = self._screen.cursor
        content: JsonObject = {
            "screen": text,
            "cursor": [row, min(column, COLUMNS - 1)],
            "running": not self._prompted and not self._over,
        }
        return Observation(text, structured=content)


def _resize(handle: int, rows: int, columns: int) -> None:
    fcntl.ioctl(handle, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def _seconds(entry: JsonObject) -> float:
    duration = entry.get("duration", DURATION)
    return float(duration) if isinstance(duration, int | float) else DURATION
