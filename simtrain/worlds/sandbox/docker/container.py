"""One container: begun before it is needed, given its files, used for one run, and gone when this process lets go of it.

Its first process is a shell that reads from this process: when that ends, however, so does the container, and the daemon removes it.
"""

import os
import re
import secrets
import selectors
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedReader
from typing import IO, cast

from simtrain.contracts.sandbox_runs import Ending, SandboxLimits
from simtrain.values.errors import SimulatorFault
from simtrain.worlds.sandbox.docker.archive import BLOCK
from simtrain.worlds.sandbox.docker.client import HELD, arguments_of, complaint, docker
from simtrain.worlds.sandbox.talking import Pieces, talk

PROCESSES = 64
_STARTING = 120.0
_BEGINNING = 45.0
_TAKING = 60.0
_ASKING = (2.0, 4.0, 10.0)
_ENDING = 10.0
_MOST_HEAD = 1 << 20
# The first process: it puts the files in, waits, ends all others, and hands out what is left. Nobody in the container can kill it.
_FIRST = r"""
exec 3>&2 2>/dev/null
echo up
read -r blocks || exit
dd bs=BLOCK count="$blocks" iflag=fullblock | tar -xpf - -C / 2>/dev/shm/said \
    || { grep -v 'in the future' /dev/shm/said | head -n 1 >&3; exit; }
rm /dev/shm/said
exec 3>&-
date +%s
echo put
read -r token || exit
kill -9 -1
echo "$token"
grep -h '^oom_kill ' /sys/fs/cgroup/memory/memory.oom_control /sys/fs/cgroup/memory.events
for place in "$@"; do
    if stat -f -c '%a %d' "$place" | grep -q '\(^0 \| 0$\)'; then echo "full"; fi
done
find "$@" -xdev \( -type d ! -perm -700 -o -type f ! -perm -600 \) -exec stat -c 'mode %a %n' {} \; -exec chmod u+rwX {} \;
echo "$token"
exec tar -cf - "$@"
""".replace("BLOCK", str(BLOCK))
# The run: within limits of its own, and nothing goes on in the background when it has ended.
_RUN = r"""
ulimit -t "$1" && ulimit -v "$2" && ulimit -f "$3"
shift 3
exec 3>&2 2>/dev/null
printf .
( exec "$@" 2>&3 3>&- )
code=$?
kill -9 -1
exit $code
"""


class _Silent(SimulatorFault):
    """Nothing was said for a time."""


@dataclass(frozen=True, slots=True)
class ContainerShape:
    """All that has to be known when a container begins: two commands of one shape can use the same kind of container."""

    image: str
    mounts: tuple[str, ...]
    user: int
    group: int
    hostname: str
    memory: int
    scratch: int
    files: int


@dataclass(frozen=True, slots=True)
class Ran:
    """The end of a command line: its exit code, what it wrote, the limit that ended it, the seconds that it took."""

    code: int
    output: Pieces
    ended_by: Ending | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What a run has left: an archive, modes that were changed to read it, whether memory or a folder ran out."""

    archive: bytes
    modes: Mapping[str, int]
    out_of_memory: bool
    full: bool


class NotBegun(SimulatorFault):
    """A command of which no sign has come from its container. Nothing has come of it, so another container may run it."""


class SandboxContainer:
    """A container that begins in the background; `put`, `run` and `take` each wait for what comes before."""

    def __init__(self, shape: ContainerShape) -> None:
        self._shape = shape
        self._name = f"simtrain-{secrets.token_hex(8)}"
        self._said = b""
        self._process = _begun(_line(self._name, shape))

    def put(self, archive: bytes) -> int:
        """Write an archive of files into it, and return the time by its clock. Raises SimulatorFault if it did not begin."""
        self._await(b"up\n", _STARTING)
        self._write(f"{len(archive) // BLOCK}\n".encode() + archive)
        return int(self._await(b"put\n", _STARTING))

    def run(
        self, argv: tuple[str, ...], *, env: Mapping[str, str], directory: str, stdin: bytes, limits: SandboxLimits
    ) -> Ran:
        """Run a command line; its time begins when it does, since it takes a client long to get there. Raises NotBegun."""
        bounds = (int(limits.work) + 1, limits.memory * 2 >> 10, limits.scratch >> 9)
        line = ["docker", "exec", "-i", "--workdir", directory, *arguments_of(tuple(env.items())), self._name]
        line += ["/bin/sh", "-c", _RUN, "run", *map(str, bounds), *argv]
        longest = min(limits.wall, limits.seconds)
        process = _begun(line)
        with process:
            try:
                _await_beginning(process)
                begun = time.monotonic()
                output, ended_by = talk(
                    process, stdin, room=limits.output, over=lambda passed: "wall" if passed > longest else None
                )
                passed = time.monotonic() - begun
                if ended_by is None and not _ends(process):
                    ended_by = "crash"
            finally:
                process.kill()
                # What is left to be written is for nobody.
                with suppress(OSError, ValueError):
                    cast("IO[bytes]", process.stdin).close()
        return Ran(process.returncode, output, ended_by, passed)

    def take(self, most: int) -> Leftovers | Ending:
        """End all that runs and return what is left. `scratch`: it is more than so many bytes; `crash`: it cannot be read."""
        token = secrets.token_hex(16).encode() + b"\n"
        try:
            self._ask(token)
            head = self._await(token, _TAKING).splitlines()
            archive = self._rest(most)
        except SimulatorFault:
            return "crash"
        if archive is None:
            return "scratch"
        told = [line.split(b" ", 2) for line in head]
        modes = {
            parts[2].decode(errors="replace"): int(parts[1], 8)
            for parts in told
            if len(parts) == 3 and parts[0] == b"mode" and re.fullmatch(rb"[0-7]{1,4}", parts[1])
        }
        killed = any(parts[0] == b"oom_kill" and parts[-1] != b"0" for parts in told)
        return Leftovers(archive, modes, killed, [b"full"] in told)

    def close(self) -> None:
        """Let go of it: its first process finds its input closed and ends, and the daemon removes it."""
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            with suppress(OSError):
                cast("IO[bytes]", pipe).close()

    def wait(self) -> None:
        """Wait until it is gone, which it soon is after `close`."""
        try:
            self._process.wait(_ENDING)
        except subprocess.TimeoutExpired:
            self.remove()

    def remove(self) -> None:
        """End it, whatever it does."""
        self.close()
        with suppress(SimulatorFault):
            docker("rm", "--force", self._name)
        self._process.kill()
        self._process.wait()

    @property
    def ended(self) -> bool:
        """Return whether it is gone."""
        return self._process.poll() is not None

    def _ask(self, token: bytes) -> None:
        """Have a token repeated. A program can take what the first process is told, so it is told more than once."""
        for seconds in _ASKING:
            self._write(token)
            with suppress(_Silent):
                self._await(token, seconds)
                return
        raise SimulatorFault("a container does not answer")

    def _write(self, data: bytes) -> None:
        stdin = cast("IO[bytes]", self._process.stdin)
        try:
            stdin.write(data)
            stdin.flush()
        except OSError:
            raise self._gone() from None

    def _await(self, mark: bytes, seconds: float) -> bytes:
        """Return what comes before a line. Raises SimulatorFault if it does not come."""
        deadline = time.monotonic() + seconds
        while not (self._said.startswith(mark) or b"\n" + mark in self._said):
            part = self._read(deadline)
            if not part:
                raise self._gone()
            self._said += part
            if len(self._said) > _MOST_HEAD:
                raise SimulatorFault("a container said more than it may")
        before, _, self._said = self._said.partition(mark)
        return before

    def _rest(self, most: int) -> bytes | None:
        deadline = time.monotonic() + _TAKING
        parts, size = [self._said], len(self._said)
        while part := self._read(deadline):
            parts.append(part)
            size += len(part)
            if size > most:
                return None
        return b"".join(parts)

    def _read(self, deadline: float) -> bytes:
        stdout = cast("BufferedReader", self._process.stdout)
        if not _can_be_read(stdout, max(0.0, deadline - time.monotonic())):
            raise _Silent("a container did not answer in time")
        return stdout.read1(1 << 20)

    def _gone(self) -> SimulatorFault:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        said = cast("IO[bytes]", self._process.stderr).read() if self.ended else b""
        return SimulatorFault(f"a container of {self._shape.image} ended too early: {complaint(said)}")


def _await_beginning(process: subprocess.Popen[bytes]) -> None:
    """Wait for the first sign of a run. Raises NotBegun if none comes; where the client has failed, its words do."""
    stdout = cast("IO[bytes]", process.stdout)
    if not _can_be_read(stdout, _BEGINNING):
        raise NotBegun("a command did not begin in a container")
    os.read(stdout.fileno(), 1)


def _can_be_read(pipe: IO[bytes], seconds: float) -> bool:
    """Return whether something comes within so many seconds, or an end."""
    with selectors.DefaultSelector() as ready:
        ready.register(pipe, selectors.EVENT_READ)
        return bool(ready.select(seconds))


def _ends(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(_TAKING)
    except subprocess.TimeoutExpired:
        return False
    return True


def _begun(line: list[str]) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    try:
        # Ctrl-C at a terminal is for this process alone.
        return subprocess.Popen(line, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True)
    except OSError as error:
        raise SimulatorFault(f"docker cannot be started: {error}") from None


def _line(name: str, shape: ContainerShape) -> list[str]:
    owner = f"uid={shape.user},gid={shape.group}"
    room = f"size={shape.scratch},nr_inodes={shape.files}"
    # Folders are in memory, so all of them together are within the limit as well.
    memory = str(shape.memory + shape.scratch)
    line = [
        "docker",
        "run",
        "--interactive",
        "--rm",
        "--name",
        name,
        "--label",
        f"simtrain={os.getpid()}",
        *HELD,
        "--read-only",
    ]
    line += ["--user", f"{shape.user}:{shape.group}", "--hostname", shape.hostname, "--pids-limit", str(PROCESSES)]
    line += ["--memory", memory, "--memory-swap", memory, "--shm-size", str(shape.scratch), "--ulimit", "core=0"]
    for place in shape.mounts:
        mode = "1777" if place in ("/tmp", "/var/tmp") else "0755"
        line += ["--tmpfs", f"{place}:rw,exec,nosuid,nodev,{room},mode={mode},{owner}"]
    # The image's own folder would be made in those of the user, as root's.
    return [*line, "--workdir", "/", "--entrypoint", "/bin/sh", shape.image, "-c", _FIRST, "first", *shape.mounts]
