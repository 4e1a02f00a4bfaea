"""The relay on standard input and output: a byte pump between one client and the server that it starts."""

import asyncio
import contextlib
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Coroutine
from itertools import count
from time import monotonic
from typing import BinaryIO

from simtrain.mcp.relay.call import RelayedCall, RelayOutcome
from simtrain.mcp.relay.journal import RelayJournal, Wrapping, era_of
from simtrain.mcp.relay.perturb import Perturber
from simtrain.mcp_wire.frames import decode_frames, encode_frame
from simtrain.mcp_wire.standard_streams import lines, read_end, standard_streams, write_end
from simtrain.mcp_wire.stdio import signal_group
from simtrain.values.errors import InputError, SimulatorFault
from simtrain.values.types import JsonObject, is_object

GRACE = 2.0
"""Seconds that the server has to end, first after the end of its input, then after SIGTERM."""

PATIENCE = 30.0
"""Seconds that the server has to answer open requests after the client has ended its input."""

# Seconds between two looks at whether the server has ended.
POLL = 0.01

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


async def relay_stdio(command: tuple[str, ...], *, perturber: Perturber, journal: RelayJournal) -> int:
    """Run a server and relay between it and our standard streams until one side ends. Return the server's exit code.

    Raises InputError if the command cannot be started.
    """
    # Signals are handled before the server starts: one that arrived in between would leave the server running.
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, stopped.set)
    try:
        process = await _start(command)
        with standard_streams() as (stdin, stdout):
            return await _Pump(process, perturber, journal, stopped).run(stdin, stdout)
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


async def _start(command: tuple[str, ...]) -> Process:
    try:
        return await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, start_new_session=True)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        remedy = "give its whole path, or install it"
        raise InputError(f"{command[0]} cannot be started: {reason}", remedy=remedy) from None


class _Pump:
    def __init__(self, process: Process, perturber: Perturber, journal: RelayJournal, stopped: asyncio.Event) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._process = process
        self._to_server, self._from_server = process.stdin, process.stdout
        self._perturber = perturber
        self._journal = journal
        self._era: str | None = None
        self._ids = count(1)
        self._owed: set[bytes] = set()
        self._answered = asyncio.Event()
        self._repeats: dict[str, asyncio.Future[JsonObject]] = {}
        self._perturbed: set[asyncio.Task[RelayOutcome]] = set()
        self._delivering: set[asyncio.Task[None]] = set()
        self._failures: list[BaseException | None] = []
        self._stopped = stopped
        self._to_client: asyncio.StreamWriter

    async def run(self, stdin: BinaryIO, stdout: BinaryIO) -> int:
        """Relay until one side ends. Return the server's exit code, or 0 if the relay had to end it."""
        async with write_end(stdout) as self._to_client:
            up = asyncio.create_task(self._upwards(await read_end(stdin)))
            down = asyncio.create_task(self._downwards())
            stopped = asyncio.create_task(self._stopped.wait())
            try:
                await asyncio.wait((up, down, stopped), return_when=asyncio.FIRST_COMPLETED)
                if self._perturbed:
                    # A perturbation may still want to call the server, so its input stays open.
                    perturbed = asyncio.gather(*self._perturbed, return_exceptions=True)
                    await asyncio.wait(
                        (perturbed, down, stopped), timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED
                    )
                with contextlib.suppress(OSError, RuntimeError):
                    self._to_server.close()
                owed = asyncio.create_task(self._all_answered())
                await asyncio.wait((owed, down, stopped), timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
                owed.cancel()
                code = await self._end()
                await self._last_words(down, stopped)
                self._failures += [task.exception() for task in (up, down) if task.done() and not task.cancelled()]
                for failure in self._failures:
                    if failure is not None:
                        raise failure
                return code
            finally:
                tasks = (up, down, stopped, *self._perturbed, *self._delivering)
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                signal_group(self._process, signal.SIGKILL)
                await self._exited(GRACE)

    async def _end(self) -> int:
        """End the server: by the end of its input, then by signals. Return its exit code."""
        patience = 0.0 if self._stopped.is_set() else GRACE
        for number in (None, signal.SIGTERM, signal.SIGKILL):
            if number is not None:
                signal_group(self._process, number)
            code = await self._exited(patience)
            if code is not None:
                return 0 if number is not None else code if code >= 0 else 128 - code
            patience = GRACE
        return 0

    async def _exited(self, patience: float) -> int | None:
        """Return the server's exit code as soon as there is one, None after `patience` seconds."""
        # Not Process.wait: it also waits for the server's children that hold its output open.
        until = monotonic() + patience
        while (code := self._process.returncode) is None and monotonic() < until:  # noqa: ASYNC110
            await asyncio.sleep(POLL)
        return code

    async def _last_words(self, down: asyncio.Task[None], stopped: asyncio.Task[bool]) -> None:
        """Pass on the server's last messages, and replies that a perturbation still delays."""
        await asyncio.wait((down, stopped), timeout=0.2, return_when=asyncio.FIRST_COMPLETED)
        # The server's children may live on and hold its output open: `npx` starts a shell that starts node.
        signal_group(self._process, signal.SIGKILL)
        await asyncio.wait((down, stopped), timeout=GRACE, return_when=asyncio.FIRST_COMPLETED)
        if self._delivering:
            late = asyncio.gather(*self._delivering, return_exceptions=True)
            await asyncio.wait((late, stopped), return_when=asyncio.FIRST_COMPLETED)

    async def _upwards(self, stdin: asyncio.StreamReader) -> None:
        """Relay from the client to the server until the client ends its input."""
        async for piece in lines(stdin):
            seconds = self._journal.now()
            line, frames = piece.data, decode_frames(piece.data) if piece.whole else None
            if frames is None:
                self._journal.stray("client", line, Wrapping())
                # Passed on all the same: the relay must not be stricter than the server behind it.
                await self._write(self._to_server, line)
                continue
            self._era = era_of(frames[0]) or self._era
            self._expect(frames)
            relayed = self._perturber.client_sends(frames[0], None, self._repeat) if len(frames) == 1 else None
            if relayed is not None:
                await self._depart(relayed, line, seconds)
                continue
            for frame in frames:
                self._journal.frame("client", frame, Wrapping(era=self._era), seconds=seconds)
            await self._write(self._to_server, line)

    async def _depart(self, relayed: RelayedCall, line: bytes, seconds: float) -> None:
        request = relayed.request
        self._perturbed.add(relayed.outcome)
        relayed.outcome.add_done_callback(self._perturbed.discard)
        frame = await relayed.departure()
        perturbed: JsonObject | None = None if frame is request else {"by": relayed.by, "frame": frame}
        self._journal.frame("client", request, Wrapping(era=self._era), seconds=seconds, perturbed=perturbed)
        if frame is None:
            self._credit([{"id": request["id"]}])
            self._spawn(self._deliver(relayed, None, b"", self._journal.now()))
            return
        await self._write(self._to_server, line if frame is request else encode_frame(frame) + b"\n")

    async def _downwards(self) -> None:
        """Relay from the server to the client until the server ends."""
        async for piece in lines(self._from_server):
            seconds = self._journal.now()
            line, frames = piece.data, decode_frames(piece.data) if piece.whole else None
            if frames is None:
                self._journal.stray("server", line, Wrapping())
                await self._write(self._to_client, line)
                continue
            self._credit(frames)
            frame = frames[0]
            repeated = self._repeats.pop(str(frame.get("id")), None) if self._repeats else None
            if repeated is not None:
                repeated.set_result(frame)
                continue
            matched = self._perturber.server_sends(frame, (None,)) if len(frames) == 1 else None
            if isinstance(matched, RelayedCall):
                self._spawn(self._deliver(matched, frame, line, seconds))
                continue
            perturbed: JsonObject | None = None
            if matched is not None:
                perturbed = {**matched.notes, "frame": matched.frame}
                line = encode_frame(matched.frame or frame) + b"\n"
            for frame in frames:
                self._journal.frame("server", frame, Wrapping(era=self._era), seconds=seconds, perturbed=perturbed)
            await self._write(self._to_client, line)
        for repeat in self._repeats.values():
            repeat.set_exception(SimulatorFault("the server has ended"))

    def _expect(self, frames: list[JsonObject]) -> None:
        """Note requests that the server owes a reply, and cancelled ones that it no longer does."""
        for frame in frames:
            if "method" in frame and "id" in frame:
                # As JSON, since ids may be numbers or texts.
                self._owed.add(encode_frame({"id": frame["id"]}))
            elif frame.get("method") == "notifications/cancelled" and is_object(frame.get("params")):
                self._owed.discard(encode_frame({"id": frame["params"].get("requestId")}))

    def _credit(self, frames: list[JsonObject]) -> None:
        for frame in frames:
            if "method" not in frame:
                self._owed.discard(encode_frame({"id": frame.get("id")}))
        self._answered.set()

    async def _all_answered(self) -> None:
        while self._owed:
            self._answered.clear()
            await self._answered.wait()

    async def _deliver(self, relayed: RelayedCall, frame: JsonObject | None, line: bytes, seconds: float) -> None:
        """Write the reply to a call that met perturbations."""
        outcome = await relayed.outcome
        perturbed = (outcome.notes or None) if outcome.frame is None else {**outcome.notes, "frame": outcome.frame}
        self._journal.frame("server", frame, Wrapping(era=self._era), seconds=seconds, perturbed=perturbed)
        await self._write(self._to_client, line if outcome.frame is None else encode_frame(outcome.frame) + b"\n")

    async def _repeat(self, frame: JsonObject) -> JsonObject:
        """Send a call again under an id that no client uses."""
        identity = f"simtrain-relay-{next(self._ids)}"
        sent = {**frame, "id": identity}
        self._repeats[identity] = asyncio.get_running_loop().create_future()
        self._journal.frame("client", None, Wrapping(era=self._era), perturbed={"by": [], "frame": sent})
        await self._write(self._to_server, encode_frame(sent) + b"\n")
        reply = await self._repeats[identity]
        self._journal.frame("server", reply, Wrapping(era=self._era), perturbed={"by": [], "frame": None})
        return reply

    def _spawn(self, delivery: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(delivery)
        self._delivering.add(task)
        task.add_done_callback(self._delivered)

    def _delivered(self, task: asyncio.Task[None]) -> None:
        self._delivering.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._failures.append(task.exception())
            self._stopped.set()

    async def _write(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        writer.write(data)
        with contextlib.suppress(ConnectionError):
            # drain() applies backpressure from one side to the other. A side that is gone ends the relay by its end of file.
            await writer.drain()
