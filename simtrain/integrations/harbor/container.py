"""A container without Docker: one namespace of bubblewrap with a root folder of its own, in which commands run and services stay."""

import asyncio
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from asyncio.subprocess import Process
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from simtrain.contracts.sandbox_runs import Entry, File
from simtrain.integrations.harbor import inside
from simtrain.values.errors import InputError, SimulatorFault
from simtrain.values.types import JsonObject
from simtrain.worlds.sandbox.bubblewrap import BubblewrapSandbox
from simtrain.worlds.sandbox.dockerfile import ContainerImage
from simtrain.worlds.sandbox.packages import copy_packages
from simtrain.worlds.sandbox.scratch import Scratch, usage

_PYTHON = "/opt/python"
_PACKAGES = "/opt/packages"
_BOOT = "/run/simtrain"
_FOLDERS = (
    "/tmp",
    "/opt",
    "/proc",
    "/dev",
    "/usr",
    "/var/tmp",
    "/run/simtrain",
    "/root",
    "/etc",
    "/tests",
    "/solution",
)
_NOBODY = 65_534
_MOST_OUTPUT = 4_000_000
_MOST_FILES = 200_000
_UNLIMITED = 86_400.0
_LOOK = 0.5
_MOUNT_POINTS = 1 << 20
_REPLY = 1 << 26
"""Bytes of the longest reply."""
_ACCOUNTS = "root:x:0:0:root:/root:/bin/bash\napp:x:{uid}:{uid}:app:/root:/bin/bash\n"


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What a command printed, its exit code, and whether it was ended because its time was over."""

    stdout: str
    stderr: str
    code: int
    late: bool


class Container:
    """A root folder of an image, and the namespace over it. No network but its own; the programs of this machine, read-only.

    All commands run as one user, whoever is asked for. `reach` maps a port of the container's own network to a Unix socket of this
    machine, and `names` are further names of its own host.
    """

    def __init__(
        self,
        image: ContainerImage,
        *,
        memory: int,
        storage: int,
        reach: Mapping[int, Path] | None = None,
        names: tuple[str, ...] = (),
    ) -> None:
        self._image = image
        self._memory, self._storage = memory, storage
        self._reach = dict(reach or {})
        self._names = names
        self._place: Path | None = None
        self._process: Process | None = None
        self._scratch: Scratch | None = None
        self._room = 0
        self._waiting: dict[int, asyncio.Future[JsonObject]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._number = 0
        self._over: str | None = None

    async def start(self) -> None:
        """Lay out the files and start. Raises InputError if bubblewrap does not work here, SimulatorFault if it fails."""
        probe = await asyncio.to_thread(BubblewrapSandbox().probe)
        if not probe.ok:
            problem, _, remedy = probe.found.partition("; ")
            raise InputError(f"a container needs bubblewrap: {problem}", remedy=remedy or None)
        self._place = place = Path(tempfile.mkdtemp(prefix="simtrain-container-"))
        place.chmod(0o755)
        (place / "in").mkdir()
        (place / "out").mkdir()
        await asyncio.to_thread(self._lay_out, place)
        if self._image.packages:
            await asyncio.to_thread(copy_packages, place / "packages")
        shutil.copy(inside.__file__, place / "inside.py")
        self._process = await asyncio.create_subprocess_exec(
            *self._line(place),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PATH": os.environ.get("PATH", "/usr/bin:/bin")},
            preexec_fn=self._limit,
            start_new_session=True,
            limit=_REPLY,
        )
        assert self._process.stdout is not None and self._process.stderr is not None
        if not await self._process.stdout.readline():
            said = (await self._process.stderr.read()).decode(errors="replace").strip()
            await self.stop()
            raise SimulatorFault(f"the container did not start: {said[-300:] or 'no reason given'}")
        self._tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._watch())]

    async def run(
        self,
        argv: list[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> CommandResult:
        """Run a command to its end. Raises SimulatorFault if the container is gone; the reason is a limit that it went beyond."""
        process = self._process
        if process is None or process.stdin is None or self._over:
            raise SimulatorFault(self._over or "the container is not running")
        self._number += 1
        number, reply = self._number, asyncio.get_running_loop().create_future()
        self._waiting[number] = reply
        base = {
            "PATH": f"{_PYTHON}/bin:/usr/local/bin:/usr/bin:/bin",
            "LD_LIBRARY_PATH": f"{_PYTHON}/lib",
            "HOME": "/root",
            **({"PYTHONPATH": _PACKAGES} if self._image.packages else {}),
        }
        request: JsonObject = {
            "id": number,
            "argv": argv,
            "cwd": cwd or self._image.directory,
            "env": {**base, **self._image.environment, **(env or {})},
            "timeout": timeout or _UNLIMITED,
            "most": _MOST_OUTPUT,
        }
        with suppress(ConnectionError):
            process.stdin.write(json.dumps(request).encode() + b"\n")
            await process.stdin.drain()
        found: JsonObject = await reply
        return CommandResult(str(found["stdout"]), str(found["stderr"]), int(str(found["code"])), bool(found["late"]))

    async def put(self, source: Path, target: str) -> None:
        """Copy a file to a path, or what is in a folder into one. It is done from the inside, so that no link leads out."""
        assert self._place is not None
        name = uuid4().hex
        staged = self._place / "in" / name
        if source.is_dir():
            await asyncio.to_thread(shutil.copytree, source, staged, symlinks=True)
        else:
            staged.mkdir()
            await asyncio.to_thread(shutil.copy, source, staged / "file")
        await asyncio.to_thread(_open_up, staged)
        script = (
            'mkdir -p "$2" && cp -R --no-preserve=ownership "$1/." "$2/"'
            if source.is_dir()
            else 'mkdir -p "$(dirname "$2")" && cp --no-preserve=ownership "$1/file" "$2"'
        )
        done = await self.run(["bash", "-c", script, "put", f"{_BOOT}/in/{name}", target], cwd="/")
        await asyncio.to_thread(shutil.rmtree, staged)
        if done.code:
            raise SimulatorFault(f"{source} cannot be copied to {target}: {done.stderr.strip()}")

    async def archive(self, source: str) -> Path:
        """Return a tar file of a path: of what is in a folder, or of one file. The caller removes it. Raises SimulatorFault."""
        assert self._place is not None
        name = f"{uuid4().hex}.tar"
        script = 'if [ -d "$1" ]; then tar cf "$2" -C "$1" .; else tar cf "$2" -C "$(dirname "$1")" -- "$(basename "$1")"; fi'
        done = await self.run(["bash", "-c", script, "archive", source, f"{_BOOT}/out/{name}"], cwd="/")
        made = self._place / "out" / name
        if done.code or made.is_symlink() or not made.is_file():
            raise SimulatorFault(f"{source} cannot be read: {done.stderr.strip()}")
        return made

    async def stop(self) -> None:
        """End everything that runs, and remove the files."""
        for task in self._tasks:
            task.cancel()
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                # The first process of the namespace: all others die with it.
                os.killpg(self._process.pid, 9)
            await self._process.wait()
        self._release("the container was stopped")
        if self._place is not None:
            # Not Python's own removal, which recurses: a program can make folders deeper than that goes.
            await (await asyncio.create_subprocess_exec("rm", "-rf", str(self._place))).wait()
            self._place = None

    def _lay_out(self, place: Path) -> None:
        user = _NOBODY if os.geteuid() == 0 else os.geteuid()
        hosts = f"127.0.0.1 {' '.join(('localhost', *self._names))}\n"
        own: dict[str, Entry] = {
            "/etc/passwd": File(_ACCOUNTS.format(uid=user).encode()),
            "/etc/group": File(f"root:x:0:\napp:x:{user}:\n".encode()),
            "/etc/hosts": File(hosts.encode()),
        }
        files = {**own, **self._image.files}
        root = str(place / "root")
        self._scratch = Scratch(root, files, start=0, always=_FOLDERS, real_modes=True)
        Path(root, "tmp").chmod(0o777)
        # The folders that become mount points count as well.
        self._room = max(self._storage // 2, self._storage - usage(root).size - _MOUNT_POINTS)
        if os.geteuid() == 0:
            for real in (root, str(place / "out")):
                subprocess.run(["chown", "-R", f"{_NOBODY}:{_NOBODY}", real], check=True)

    def _line(self, place: Path) -> list[str]:
        line = ["bwrap", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
        line += [
            "--die-with-parent",
            "--new-session",
            "--clearenv",
            "--hostname",
            "main",
            "--bind",
            str(place / "root"),
            "/",
        ]
        argv = [f"{_PYTHON}/bin/python3", "-I", f"{_BOOT}/inside.py"]
        if os.geteuid() == 0:
            line += ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
            drop = ["setpriv", "--reuid", str(_NOBODY), "--regid", str(_NOBODY), "--clear-groups"]
            argv = [*drop, "--no-new-privs", "--inh-caps=-all", *argv]
        else:
            line += ["--unshare-user", "--uid", str(os.geteuid()), "--gid", str(os.getegid())]
        line += ["--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev"]
        for folder in map(Path, ("/lib", "/lib64", "/bin", "/sbin")):
            # Links into /usr on systems of today.
            if folder.is_symlink():
                line += ["--symlink", str(folder.readlink()), str(folder)]
            elif folder.is_dir():
                line += ["--ro-bind", str(folder), str(folder)]
        line += ["--ro-bind", sys.base_prefix, _PYTHON, "--ro-bind", str(place / "inside.py"), f"{_BOOT}/inside.py"]
        if self._image.packages:
            line += ["--ro-bind", str(place / "packages"), _PACKAGES]
        line += ["--ro-bind", str(place / "in"), f"{_BOOT}/in", "--bind", str(place / "out"), f"{_BOOT}/out"]
        for port, socket in self._reach.items():
            line += ["--bind", str(socket), f"{_BOOT}/{port}.sock"]
            argv.append(f"{port}={_BOOT}/{port}.sock")
        line += ["--setenv", "PATH", "/usr/bin:/bin", "--setenv", "LD_LIBRARY_PATH", f"{_PYTHON}/lib"]
        return [*line, "--chdir", "/", "--", *argv]

    def _limit(self) -> None:
        # One file cannot be too much by itself: whoever writes it hears of it, and the container goes on.
        resource.setrlimit(resource.RLIMIT_FSIZE, (self._room, self._room))
        resource.setrlimit(resource.RLIMIT_AS, (self._memory, self._memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    async def _listen(self) -> None:
        assert self._process is not None and self._process.stdout is not None
        while line := await self._process.stdout.readline():
            found: JsonObject = json.loads(line)
            waiting = self._waiting.pop(int(str(found["id"])), None)
            if waiting is not None and not waiting.done():
                waiting.set_result(found)
        self._release(self._over or "the container has ended")

    async def _watch(self) -> None:
        assert self._scratch is not None
        while True:
            await asyncio.sleep(_LOOK)
            used = await asyncio.to_thread(usage, self._scratch.root)
            if used.size > self._storage or used.entries > _MOST_FILES:
                megabytes = self._storage >> 20
                self._over = f"the container wrote more than {megabytes} MB or {_MOST_FILES:,} files, and was ended"
                assert self._process is not None
                with suppress(ProcessLookupError):
                    os.killpg(self._process.pid, 9)
                return

    def _release(self, why: str) -> None:
        self._over = self._over or why
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(SimulatorFault(self._over))
        self._waiting.clear()


def _open_up(staged: Path) -> None:
    """Let whoever is in the container read what was staged."""
    for folder, folders, files in os.walk(staged):
        Path(folder).chmod(0o755)
        for name in (*folders, *files):
            path = Path(folder, name)
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
