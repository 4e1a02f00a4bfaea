"""A server as a child process that speaks one frame per line."""

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import Mapping

from simtrain.mcp_wire.connection import SHOWN, ConnectionLimits, ReceivedFrame, RequestId, Strays
from simtrain.mcp_wire.faults import ConnectionLost, TimedOut
from simtrain.mcp_wire.frames import cancelled, decode_frames, encode_frame
from simtrain.mcp_wire.targets import StdioTarget
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject

# fmt: off
INHERITED = (
    "HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER",
    "VIRTUAL_ENV", "DOCKER_HOST",
    "NODE_EXTRA_CA_CERTS", "SSL_CERT_DIR", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
)
# fmt: on
INHERITED_PREFIXES = ("LC_", "XDG_", "npm_config_", "NPM_CONFIG_", "UV_", "PIP_", "NVM_", "PYTHON")
"""The variables that a server inherits: enough to start through npx, uvx or docker, but no keys of model servers and the like."""

STDERR_BYTES = 8192


class StdioConnection:
    """A child process in its own process group."""

    def __init__(self, target: StdioTarget, process: Process, limits: ConnectionLimits) -> None:
        assert process.stdin and process.stdout and process.stderr
        self._target = target
        self._process = process
        self._stdin, self._stdout, self._stderr = process.stdin, process.stdout, process.stderr
        self._limits = limits
        self._ready: deque[ReceivedFrame] = deque()
        self.strays = Strays()
        self._errors = bytearray()
        self._listener = asyncio.create_task(self._keep_errors())

    async def send(self, frame: JsonObject, *, headers: Mapping[str, str] | None = None) -> None:
        """Write one line. Raises ConnectionLost, and TimedOut if the server does not read."""
        try:
            self._stdin.write(encode_frame(frame) + b"\n")
            async with asyncio.timeout(self._limits.send):
                await self._stdin.drain()
        except TimeoutError:
            raise TimedOut(f"{self._target} did not read what was sent for {self._limits.send:g} s") from None
        except (OSError, RuntimeError):
            raise await self._lost() from None

    async def receive(self) -> ReceivedFrame:
        """Return the next frame. Raises ConnectionLost at the end of the output, and for a line beyond the limit."""
        while not self._ready:
            line = await self._line()
            frames = decode_frames(line)
            if frames is not None:
                self._ready.extend(ReceivedFrame(frame) for frame in frames)
            elif line.strip():
                self.strays.add(line.decode(errors="replace"))
        return self._ready.popleft()

    async def cancel(self, request: RequestId) -> None:
        """Send `notifications/cancelled`."""
        await self.send(cancelled(request))

    def last_words(self) -> str:
        """Return the end of its standard error, and its first stray line."""
        printed = [line.strip() for line in self._errors.decode(errors="replace").splitlines() if line.strip()]
        words = f"it printed {' | '.join(printed[-3:])[-SHOWN:]!r}" if printed else ""
        stray = f"its standard output held {self.strays.first[0][:120]!r}" if self.strays.first else ""
        return "; ".join(part for part in (words, stray) if part)

    async def close(self) -> None:
        """End the whole group: end of input, then SIGTERM, then SIGKILL, each after `limits.close` seconds."""
        with contextlib.suppress(OSError, RuntimeError):
            self._stdin.close()
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                async with asyncio.timeout(self._limits.close):
                    await self._process.wait()
                break
            except TimeoutError:
                signal_group(self._process, number)
        # The server's children may live on: `npx` starts a shell that starts node.
        signal_group(self._process, signal.SIGKILL)
        await self._process.wait()
        self._listener.cancel()
        await asyncio.gather(self._listener, return_exceptions=True)
        # Unread output, or a grandchild in another group, would keep the pipes open, and no public method closes them.
        self._process._transport.close()  # pyright: ignore
        await asyncio.sleep(0)

    async def _line(self) -> bytes:
        try:
            return await self._stdout.readuntil(b"\n")
        except asyncio.IncompleteReadError as rest:
            # The last line may have no newline.
            if rest.partial:
                return rest.partial
            raise await self._lost() from None
        except asyncio.LimitOverrunError:
            limit = self._limits.frame // (1024 * 1024)
            raise ConnectionLost(f"{self._target} sent a line of more than {limit} MiB") from None

    async def _lost(self) -> ConnectionLost:
        with contextlib.suppress(TimeoutError):
            # The reason is usually printed on standard error just before the end.
            async with asyncio.timeout(1.0):
                await self._process.wait()
                await asyncio.shield(self._listener)
        code = self._process.returncode
        ended = "closed its standard output" if code is None else f"ended with {_describe(code)}"
        words = self.last_words()
        return ConnectionLost(f"{self._target} {ended}" + (f"; {words}" if words else ""))

    async def _keep_errors(self) -> None:
        while chunk := await self._stderr.read(65536):
            self._errors += chunk
            del self._errors[:-STDERR_BYTES]


async def open_stdio(target: StdioTarget, limits: ConnectionLimits) -> StdioConnection:
    """Start a server. Raises InputError if it cannot be started."""
    try:
        process = await asyncio.create_subprocess_exec(
            *target.command,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            limit=limits.frame,
            env=environment(target.env),
            cwd=target.cwd,
            # A process group of its own, so that signals reach its children as well.
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        # A missing folder raises the same error as a missing command.
        if isinstance(error, FileNotFoundError) and target.cwd is not None and not target.cwd.is_dir():
            raise InputError(f"{target} cannot be started: there is no folder {target.cwd}") from None
        remedy = "install it, or give its whole path" if isinstance(error, FileNotFoundError) else None
        raise InputError(f"{target.command[0]} cannot be started: {reason}", remedy=remedy) from None
    return StdioConnection(target, process, limits)


def signal_group(process: Process, number: signal.Signals) -> None:
    """Send a signal to what is left of a process's group, if anything."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def environment(added: Mapping[str, str] | None) -> dict[str, str]:
    """Return the environment of a server's process: the harmless part of ours, and `added`."""
    ours = {
        name: value for name, value in os.environ.items() if name in INHERITED or name.startswith(INHERITED_PREFIXES)
    }
    return ours | dict(added or {})


def _describe(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
