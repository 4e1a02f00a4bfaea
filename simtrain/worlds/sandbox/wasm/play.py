"""One run of the component, in a forked process that ends with it."""

import json
import os
import resource
import signal
import socket
import stat
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn, TypeGuard

from simtrain.contracts.sandbox_runs import (
    Ending,
    Entry,
    File,
    Folder,
    SandboxCommand,
    SandboxLimits,
    SandboxOutcome,
    SymbolicLink,
)
from simtrain.worlds.sandbox.scratch import Scratch, remove
from simtrain.worlds.sandbox.wasm.host_calls import Left
from simtrain.worlds.sandbox.wasm.prepared import PreparedComponent
from simtrain.worlds.sandbox.wire import receive_command, send_outcome
from simtrain.worlds.sandbox.wording import as_on_linux

_FOLDERS = ("/tmp", "/dev", "/usr/bin")
_OWN = ("/dev/", "/usr/lib/python3", "/usr/share/zoneinfo")
_LOOKS = 0.05
_BROKEN_PIPE = -32
_DESCRIPTORS = 512
_NOBODY = 65_534
_SHARE = 16


class ComponentRun:
    """One run: its files and limits, what was written so far, and the watch over time and disk."""

    def __init__(self, prepared: PreparedComponent, command: SandboxCommand, place: str) -> None:
        self._prepared, self._command = prepared, command
        self._output: list[tuple[int, bytes]] = []
        self._written = 0
        self._ended_by: Ending | None = None
        self._over = threading.Lock()
        files = {path: entry for path, entry in command.files.items() if not path.startswith(_OWN)}
        self._scratch = Scratch(
            f"{place}/files", files, start=command.start, always=(*_FOLDERS, command.cwd), access=command.access
        )
        self._stdin = f"{place}/stdin"
        with open(self._stdin, "wb") as stdin:
            stdin.write(command.stdin)
        with open(f"{place}/files/dev/null", "wb"):
            pass
        # What is written from now on has a later time on the host's clock than this file, whatever that clock's grain.
        self._fresh = os.stat(f"{place}/files/dev/null").st_mtime_ns
        self._given_modes = {path: entry.mode for path, entry in files.items() if _unusual(entry)}

    def play(self) -> SandboxOutcome:
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
        self._close_files()
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
        wasi.stdin_file = self._stdin
        wasi.stdout_custom = partial(self._write, 1)
        wasi.stderr_custom = partial(self._write, 2)
        wasi.preopen_dir(self._scratch.root, "/", True)
        wasi.preopen_dir(str(built.library), "/usr/lib/python3.14", False)
        wasi.preopen_dir(str(built.packages), "/usr/lib/python3/dist-packages", False)
        wasi.preopen_dir(str(built.zones), "/usr/share/zoneinfo", False)
        return wasi

    def _close_files(self) -> None:
        """Take from the program the files that it may not use. As root, who may use all, by becoming nobody."""
        if not self._command.access:
            return
        self._scratch.close()
        if os.geteuid() == 0:
            self._scratch.give_away(_NOBODY)
            os.seteuid(_NOBODY)

    def _open_files(self) -> None:
        if not self._command.access:
            return
        if os.getuid() == 0:
            os.seteuid(0)
        self._scratch.reopen()

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
                "fresh": self._fresh,
                "uid": command.uid,
                "gid": command.gid,
                "modes": self._given_modes,
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

    def _outcome(self, code: int, modes: dict[str, int]) -> SandboxOutcome:
        now = self._command.start + self._clock.passed
        self._open_files()
        return SandboxOutcome(
            exit_code=code,
            output=as_on_linux(self._output),
            changes=self._scratch.changes(modes, now=now, fresh=self._fresh, skip=_OWN),
            ended_by=self._ended_by,
            seconds=self._clock.passed,
            exact=self._ended_by not in ("wall", "scratch", "work"),
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
                usage = self._scratch.usage()
                if usage.size + _unlinked() > limits.scratch or usage.entries > limits.files:
                    ended_by = "scratch"
            if ended_by is None:
                continue
            if not self._over.acquire(blocking=False):
                return
            self._ended_by = ended_by
            self.on_cut(self._outcome(137, {}))

    def on_cut(self, outcome: SandboxOutcome) -> NoReturn:
        """Report a run that is cut off, and end the process."""
        raise NotImplementedError


def _unusual(entry: Entry) -> TypeGuard[File | Folder]:
    """Return whether a mode has to be told: the component takes the others for granted."""
    if isinstance(entry, SymbolicLink):
        return False
    return entry.mode != (0o644 if isinstance(entry, File) else 0o755)


def _unlinked() -> int:
    """Return the bytes in files that were removed and are still open: they take disk, and no folder shows them."""
    size = 0
    for descriptor in range(3, _DESCRIPTORS):
        with suppress(OSError):
            status = os.fstat(descriptor)
            if stat.S_ISREG(status.st_mode) and not status.st_nlink:
                size += status.st_size
    return size


def _has_room(root: str, limits: SandboxLimits) -> bool:
    """Return whether all that a run may write leaves several times as much for others."""
    free = os.statvfs(root)
    return free.f_bavail * free.f_frsize > _SHARE * limits.scratch and free.f_favail > _SHARE * limits.files


class Reported(ComponentRun):
    """A run that reports over a socket."""

    def __init__(self, line: socket.socket, prepared: PreparedComponent, command: SandboxCommand, place: str) -> None:
        super().__init__(prepared, command, place)
        self._line, self._place = line, place

    def on_cut(self, outcome: SandboxOutcome) -> NoReturn:
        """Send what there is and end the process, whatever the program does meanwhile."""
        with suppress(OSError):
            send_outcome(self._line, outcome)
        remove(self._place)
        os._exit(0)


def play_and_exit(line: socket.socket, prepared: PreparedComponent, roots: Sequence[str]) -> NoReturn:
    """Receive a command over a socket, run it, send the outcome, and end this process.

    The run's files lie in the first of some folders that has room for them, or in the last.
    """
    place = None
    try:
        command = receive_command(line)
        limits = command.limits
        # The kernel's own limits stand behind ours.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, limits.wall + 10)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limits.scratch, limits.scratch))
        resource.setrlimit(resource.RLIMIT_NOFILE, (_DESCRIPTORS, _DESCRIPTORS))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        place = tempfile.mkdtemp(dir=next((root for root in roots[:-1] if _has_room(root, limits)), roots[-1]))
        os.chmod(place, 0o711)
        playing = Reported(line, prepared, command, place)
        send_outcome(line, playing.play())
    except (EOFError, BrokenPipeError):
        pass
    finally:
        # Whatever happens: beyond this function lies the loop of the warm process.
        try:
            if os.getuid() == 0:
                os.seteuid(0)
            if place is not None:
                remove(place)
        finally:
            os._exit(0)
