"""A real bash behind a command that the user names, such as `docker exec -i box bash`: command lines in, what they print out.

The bash reads from a pipe and stays open, so that directory and variables last. Behind each command line it prints a mark, which no
command can know, on both of its streams.
"""

import asyncio
import contextlib
import signal
from asyncio import StreamReader
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from pathlib import Path
from secrets import token_hex
from shlex import quote

from simtrain.mcp_wire.stdio import signal_group
from simtrain.values.errors import SimulatorFault
from simtrain.world_models.left_behind import PLACE, end_session
from simtrain.worlds.machine.engine import TIMED_OUT, Finished

MOST_OUTPUT = 4_000_000
"""Most bytes of output that are kept of a command line; the rest is read and dropped."""
LONGEST_LINE = 2**20
"""Bytes of a line that is still awaited whole."""
_STARTING = 60.0
"""Seconds that a bash may take to start."""


class _Gone(Exception):
    """The bash has ended."""


class RealShell:
    """One bash, started when it is first needed and again when it has ended; each is a new login then, with nothing of the last."""

    def __init__(self, command: Sequence[str], *, environment: Mapping[str, str], directory: Path | None) -> None:
        """Name the command that starts a bash on its standard input."""
        self._command = command
        self._environment = environment
        self._directory = directory
        self._process: Process | None = None
        self._code = 0
        self._place = ""

    async def run(self, script: str, *, limit: float) -> Finished:
        """Run a script; after `limit` real seconds it is stopped, and the bash with it. Raises SimulatorFault if none can be started."""
        if self._process is None:
            await self._start()
        before = f"(exit {self._code}); " if self._code and "$?" in script else ""
        pieces: list[tuple[int, bytes]] = []
        try:
            self._code = await asyncio.wait_for(
                self._carry_out(f"{{ {before}eval {quote(script)}\n}} < /dev/null", pieces), limit
            )
            return _finished(pieces, self._code)
        except TimeoutError:
            await self.close()
            return _finished(pieces, TIMED_OUT, stopped=True)
        except _Gone:
            # The script has ended the bash, by `exit` for example.
            code = await self._ended()
            return _finished(pieces, code)

    async def close(self) -> None:
        """End the bash and what it has started."""
        process, self._process = self._process, None
        if process is None:
            return
        signal_group(process, signal.SIGKILL)
        await process.wait()
        await self._end_the_rest()

    async def _end_the_rest(self) -> None:
        place, self._place = self._place, ""
        await end_session(place, self._command, environment=self._environment, directory=self._directory)

    async def _start(self) -> None:
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                env=self._environment,
                cwd=self._directory,
                start_new_session=True,
                limit=2**20,
            )
        except OSError as error:
            raise SimulatorFault(f"the shell {self._command[0]!r} cannot be started: {error.strerror}") from None
        said: list[tuple[int, bytes]] = []
        try:
            await asyncio.wait_for(self._carry_out(PLACE, said), _STARTING)
        except (TimeoutError, _Gone):
            await self.close()
            told = b"".join(text for _, text in said).decode(errors="replace").strip()
            raise SimulatorFault(
                f"no bash answers behind {self._command[0]!r}{': ' if told else ''}{told[:300]}"
            ) from None
        self._code = 0
        self._place = b"".join(text for stream, text in said if stream == 1).decode(errors="replace")

    async def _carry_out(self, line: str, pieces: list[tuple[int, bytes]]) -> int:
        """Have a line carried out, add what it prints to `pieces` with the number of its stream, and return its exit code."""
        process = self._process
        assert process is not None and process.stdin is not None
        assert process.stdout is not None and process.stderr is not None
        mark = f"<{token_hex(16)}>"
        ending = f"printf '\\n%s %d\\n' '{mark}' $?; printf '\\n%s\\n' '{mark}' >&2"
        # A bash that has ended is noticed where its output ends.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            process.stdin.write(f"{line}\n{ending}\n".encode(errors="replace"))
            await process.stdin.drain()
        rest, other = await asyncio.gather(
            _read(process.stdout, f"\n{mark} ".encode(), 1, pieces),
            _read(process.stderr, f"\n{mark}".encode(), 2, pieces),
        )
        if rest is None or other is None:
            raise _Gone
        return int(rest)

    async def _ended(self) -> int:
        process, self._process = self._process, None
        self._code = 0
        if process is None:
            return 0
        code = await process.wait()
        # What it has left in the background goes with it, as it does when a container ends.
        signal_group(process, signal.SIGKILL)
        await self._end_the_rest()
        return code if code >= 0 else 128 - code


async def _read(reader: StreamReader, mark: bytes, number: int, pieces: list[tuple[int, bytes]]) -> bytes | None:
    """Add what a stream brings before a mark to `pieces`; return the rest of the mark's line, or None if the stream has ended.

    Lines are added whole, so that those of two streams do not run into one another.
    """
    held, kept = b"", 0

    def add(size: int) -> None:
        nonlocal held, kept
        if size and kept < MOST_OUTPUT:
            pieces.append((number, held[:size]))
        kept += size
        held = held[size:]

    try:
        while (at := held.find(mark)) < 0:
            chunk = await reader.read(2**16)
            if not chunk:
                return None
            held += chunk
            if mark not in held:
                whole = held.rfind(b"\n", 0, len(held) - _begun(mark, held)) + 1
                add(whole if len(held) - whole < LONGEST_LINE else len(held) - len(mark))
        add(at)
    finally:
        # The stream has ended, or the time is up: what has come until now was printed all the same.
        if mark not in held:
            add(len(held))
    while b"\n" not in held[len(mark) :]:
        chunk = await reader.read(2**16)
        if not chunk:
            return None
        held += chunk
    return held[len(mark) :].partition(b"\n")[0].strip()


def _begun(mark: bytes, held: bytes) -> int:
    """Return how many bytes at the end of some text may be the beginning of a mark, which may come in two pieces."""
    return next((size for size in range(min(len(mark) - 1, len(held)), 0, -1) if held.endswith(mark[:size])), 0)


def _finished(pieces: Sequence[tuple[int, bytes]], code: int, *, stopped: bool = False) -> Finished:
    def text(*numbers: int) -> str:
        return b"".join(piece for number, piece in pieces if number in numbers).decode(errors="replace")

    return Finished(text(1), text(2), text(1, 2), code, "timeout" if stopped else "")
