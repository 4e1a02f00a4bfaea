"""One run of the component, in a forked process that ends with it."""

import json
import os
import resource
import signal
import socket
import stat
import threading
import time
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn

from simtrain.contracts.sandbox_runs import Ending
from simtrain.worlds.sandbox.scratch import usage
from simtrain.worlds.sandbox.wasm.command_folders import NOBODY
from simtrain.worlds.sandbox.wasm.host_calls import Left
from simtrain.worlds.sandbox.wasm.prepared import PreparedComponent
from simtrain.worlds.sandbox.wasm.wire import PlacedCommand, PlayedCommand, receive_command, send_played
from simtrain.worlds.sandbox.wording import as_on_linux

_LOOKS = 0.05
_BROKEN_PIPE = -32
_DESCRIPTORS = 512


class ComponentRun:
    """One run: its limits, what was written so far, and the watch over time and disk. It reports over a socket."""

    def __init__(self, line: socket.socket, prepared: PreparedComponent, command: PlacedCommand) -> None:
        self._line, self._prepared, self._command = line, prepared, command
        self._root = f"{command.place}/files"
        self._output: list[tuple[int, bytes]] = []
        self._written = 0
        self._ended_by: Ending | None = None
        self._over = threading.Lock()

    def play(self) -> PlayedCommand:
        """Run to the end and return what happened."""
        from wasmtime import ExitTrap, Trap, TrapCode, WasmtimeError

        command, limits = self._command, self._command.limits
        clock = self._clock = self._prepared.give(
            self._wasi(),
            memory=limits.memory,
            work=limits.work,
            start=command.start,
            seconds=limits.seconds,
            seed=command.seed,
        )
        if command.closed and os.geteuid() == 0:
            # Root may use every file: the program must not be able to.
            os.seteuid(NOBODY)
        self._watch()
        code, modes = 1, dict[str, int]()
        try:
            told = json.loads(self._prepared.run(self._request()))
            code, modes = int(told["code"]), {str(path): int(mode) for path, mode in told["modes"].items()}
        except (ExitTrap, Left) as stop:
            code = stop.code
        except Trap as trap:
            if trap.trap_code == TrapCode.OUT_OF_FUEL:
                self._ended_by, code = "work", 137
            else:
                self._ended_by, code = "crash", 139
                self._output.append((2, b"Segmentation fault\n"))
        except WasmtimeError as error:
            code = self._after(str(error))
        # The watch must not speak after this.
        self._over.acquire()
        if self._ended_by is None and clock.passed >= limits.seconds:
            self._ended_by, code = "seconds", 124
        return self._outcome(code, modes)

    def _wasi(self) -> Any:
        from wasmtime import WasiConfig

        built = self._prepared.built
        wasi = WasiConfig()
        wasi.stdin_file = f"{self._command.place}/stdin"
        wasi.stdout_custom = partial(self._write, 1)
        wasi.stderr_custom = partial(self._write, 2)
        wasi.preopen_dir(self._root, "/", True)
        wasi.preopen_dir(str(built.library), "/usr/lib/python3.14", False)
        wasi.preopen_dir(str(built.packages), "/usr/lib/python3/dist-packages", False)
        wasi.preopen_dir(str(built.zones), "/usr/share/zoneinfo", False)
        return wasi

    def _after(self, error: str) -> int:
        """Return the exit code for an end that wasmtime only words."""
        if "all fuel consumed" in error:
            self._ended_by = "work"
            return 137
        if "Exited with i32 exit status" in error:
            return int(error.split("Exited with i32 exit status")[1].split()[0].rstrip("."))
        self._ended_by = "crash"
        if "unreachable" in error:
            self._output.append((2, b"Aborted\n"))
            return 134
        self._output.append((2, b"Segmentation fault\n"))
        return 139

    def _request(self) -> str:
        command = self._command
        return json.dumps(
            {
                "argv": command.argv,
                "env": dict(command.env),
                "cwd": command.cwd,
                "start": command.start,
                "fresh": command.fresh,
                "uid": command.uid,
                "gid": command.gid,
                "modes": dict(command.modes),
            }
        )

    def _write(self, stream: int, part: bytes) -> int:
        room = self._command.limits.output - self._written
        if room <= 0:
            self._ended_by = "output"
            return _BROKEN_PIPE
        self._output.append((stream, part[:room]))
        self._written += len(part)
        return len(part)

    def _outcome(self, code: int, modes: dict[str, int]) -> PlayedCommand:
        return PlayedCommand(
            exit_code=code,
            output=as_on_linux(self._output),
            ended_by=self._ended_by,
            seconds=self._clock.passed,
            exact=self._ended_by not in ("wall", "scratch", "work"),
            modes=modes,
        )

    def _watch(self) -> None:
        threading.Thread(target=self._watched, daemon=True).start()

    def _watched(self) -> None:
        """End the run from beside it when it takes too long or too much disk: no limit of WebAssembly's own sees either."""
        limits = self._command.limits
        end = time.monotonic() + limits.wall
        while True:
            time.sleep(_LOOKS)
            ended_by: Ending | None = None
            if time.monotonic() > end:
                ended_by = "wall"
            else:
                used = usage(self._root)
                if used.size + _unlinked() > limits.scratch or used.entries > limits.files:
                    ended_by = "scratch"
            if ended_by is None:
                continue
            if not self._over.acquire(blocking=False):
                return
            self._ended_by = ended_by
            with suppress(OSError):
                send_played(self._line, self._outcome(137, {}))
            # Whatever the program does meanwhile.
            os._exit(0)


def _unlinked() -> int:
    """Return the bytes in files that were removed and are still open: they take disk, and no folder shows them."""
    size = 0
    for descriptor in range(3, _DESCRIPTORS):
        with suppress(OSError):
            status = os.fstat(descriptor)
            if stat.S_ISREG(status.st_mode) and not status.st_nlink:
                size += status.st_size
    return size


def play_and_exit(line: socket.socket, prepared: PreparedComponent) -> NoReturn:
    """Receive a command over a socket, run it over the files in its place, send what came of it, and end this process."""
    try:
        command = receive_command(line)
        limits = command.limits
        # The kernel's own limits stand behind ours.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, limits.wall + 10)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limits.scratch, limits.scratch))
        resource.setrlimit(resource.RLIMIT_NOFILE, (_DESCRIPTORS, _DESCRIPTORS))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        send_played(line, ComponentRun(line, prepared, command).play())
    except (EOFError, BrokenPipeError):
        pass
    finally:
        # Whatever happens: beyond this function lies the loop of the warm process.
        os._exit(0)
