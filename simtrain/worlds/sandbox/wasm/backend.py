"""The sandbox `wasm`: CPython in WebAssembly, one forked process a run."""

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

from simtrain.contracts.sandbox import OpenSandbox, SandboxBackend, SandboxProbe
from simtrain.contracts.sandbox_runs import SandboxCommand, SandboxOutcome
from simtrain.values.errors import InputError, SimulatorFault
from simtrain.worlds.sandbox.wasm.command_folders import CommandFolder, CommandFolders
from simtrain.worlds.sandbox.wasm.component import REMEDY, found_component
from simtrain.worlds.sandbox.wasm.warm import READY
from simtrain.worlds.sandbox.wasm.wire import PlayedCommand, receive_played, send_command

_GRACE = 30.0


class WasmSandbox(SandboxBackend):
    """CPython in WebAssembly, on every machine: no threads, no subprocess, no network; same seed, same bytes."""

    def probe(self) -> SandboxProbe:
        """Look for the extra and the built component."""
        try:
            built = found_component()
        except InputError as error:
            return SandboxProbe(False, f"{error.problem}; {error.remedy}, then {REMEDY}")
        if built is None:
            return SandboxProbe(False, f"not built yet; {REMEDY}")
        return SandboxProbe(True, f"CPython 3.14 with pytest, digest {built.digest[:12]}, at {built.folder}")

    @contextmanager
    def opened(self) -> Generator[OpenSandbox]:
        """Start the warm process; it ends with the block. Raises InputError if the component is not built."""
        if found_component() is None:
            raise InputError("the sandbox `wasm` is not built yet", remedy=REMEDY)
        warm = WarmProcess()
        try:
            yield warm
        finally:
            warm.close()


class WarmProcess:
    """The other side of `warm.py`. Threads may run commands at the same time."""

    def __init__(self) -> None:
        """Start it, and wait until the component is in memory. Raises SimulatorFault."""
        self._control, theirs = socket.socketpair()
        self._lock = threading.Lock()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "simtrain.worlds.sandbox.wasm.warm", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        self._control.settimeout(_GRACE * 2)
        try:
            told = self._control.recv(10_000)
        except OSError as error:
            told = str(error).encode()
        if not told.startswith(READY):
            self.close()
            raise SimulatorFault(f"the sandbox `wasm` did not start: {told.decode(errors='replace') or 'it died'}")
        self._folders = CommandFolders(json.loads(told.removeprefix(READY)))

    @property
    def pid(self) -> int:
        """Return the process id of the warm process."""
        return self._process.pid

    def run(self, command: SandboxCommand) -> SandboxOutcome:
        """Run a command in a child of the warm process. Raises SimulatorFault if that dies without a word."""
        folder = self._folders.take(command)
        try:
            played = self._played(command, folder)
            changes = folder.changes(command, played)
        except BaseException:
            folder.remove()
            raise
        self._folders.give_back(folder)
        return SandboxOutcome(
            exit_code=played.exit_code,
            output=played.output,
            changes=changes,
            ended_by=played.ended_by,
            seconds=played.seconds,
            exact=played.exact,
        )

    def _played(self, command: SandboxCommand, folder: CommandFolder) -> PlayedCommand:
        ours, theirs = socket.socketpair()
        wall = command.limits.wall
        with ours:
            with theirs, self._lock:
                try:
                    socket.send_fds(self._control, [b"r"], [theirs.fileno()])
                except OSError as error:
                    raise SimulatorFault(f"the sandbox `wasm` is gone: {error}") from None
            # The child ends itself at `wall`; the kernel ends it ten seconds later.
            ours.settimeout(wall + _GRACE)
            begun = time.monotonic()
            try:
                send_command(ours, folder.placed(command))
                played = receive_played(ours)
                if played.ended_by in ("wall", "scratch"):
                    # The program may still be writing, until its process is gone.
                    ours.recv(1)
            except (EOFError, OSError) as error:
                if isinstance(error, EOFError) and time.monotonic() - begun >= wall:
                    # It was the kernel: this machine was too busy, or stood still, for the child to say so itself.
                    return PlayedCommand(137, (), "wall", wall, exact=False, modes={})
                raise SimulatorFault(f"the sandbox `wasm` ended without an outcome: {error}") from None
        return played

    def close(self) -> None:
        """End the warm process and every run that is going."""
        self._control.close()
        try:
            self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
