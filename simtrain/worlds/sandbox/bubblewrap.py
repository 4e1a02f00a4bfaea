"""The sandbox `bubblewrap`: this machine's own CPython in namespaces of its own. Linux only; threads and subprocess work."""

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from simtrain.contracts.sandbox import OpenSandbox, SandboxBackend, SandboxProbe
from simtrain.contracts.sandbox_runs import Ending, File, SandboxCommand, SandboxOutcome
from simtrain.values.errors import InputError, SimulatorFault
from simtrain.worlds.sandbox.kernel_keys import filter_of_keys
from simtrain.worlds.sandbox.packages import copy_packages, search_path
from simtrain.worlds.sandbox.scratch import Scratch, usage
from simtrain.worlds.sandbox.talking import talk
from simtrain.worlds.sandbox.wording import steadied, steadied_time

_PYTHON = "/opt/python"
_PACKAGES = "/opt/packages"
_FOLDERS = ("/tmp", "/opt", "/proc", "/dev", "/usr", "/var", "/run")
_LOCAL = "/usr/local/"
# What a program sees of the host in the place of what a command brings.
_OF_THE_HOST = tuple(
    f"{folder}/" for folder in ("/usr", "/lib", "/lib64", "/bin", "/sbin", "/proc", "/dev", _PYTHON, _PACKAGES)
)
_PROCESSES = 64
_NOBODY = 65_534


class BubblewrapSandbox(SandboxBackend):
    """This machine's CPython in Linux namespaces, with threads and subprocess; by the real clock, so not the same bytes each time."""

    def probe(self) -> SandboxProbe:
        """Run `true` in a namespace: whether the kernel allows that shows only so."""
        found = shutil.which("bwrap")
        if found is None:
            remedy = "apt-get install bubblewrap" if sys.platform == "linux" else "it is for Linux alone"
            return SandboxProbe(False, f"bwrap is not installed; {remedy}")
        plain = [found, "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "true"]
        try:
            ran = subprocess.run(plain, capture_output=True, text=True, timeout=20)
        except (OSError, subprocess.TimeoutExpired) as error:
            return SandboxProbe(False, f"{found} cannot be run: {error}")
        if ran.returncode:
            said = (ran.stderr.strip().splitlines() or ["no reason given"])[-1]
            remedy = "allow user namespaces: sysctl kernel.apparmor_restrict_unprivileged_userns=0"
            return SandboxProbe(False, f"{found} may not make namespaces ({said}); {remedy}")
        version = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=20).stdout.strip()
        return SandboxProbe(True, f"{version}, with Python {sys.version.split()[0]} of this environment")

    @contextmanager
    def opened(self) -> Generator[OpenSandbox]:
        """Lay out pytest for all runs. Raises InputError if bubblewrap does not work here."""
        probe = self.probe()
        if not probe.ok:
            problem, _, remedy = probe.found.partition("; ")
            raise InputError(f"the sandbox `bubblewrap` does not work here: {problem}", remedy=remedy or None)
        with tempfile.TemporaryDirectory(prefix="simtrain-sandbox-") as place:
            os.chmod(place, 0o755)
            copy_packages(Path(place) / "packages")
            yield Namespaces(Path(place))


class Namespaces:
    """Runs each command in new namespaces: no network, no processes but its own, and of the host only programs, read-only."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def run(self, command: SandboxCommand) -> SandboxOutcome:
        """Run a command to its end or to a limit. Raises SimulatorFault if bwrap itself fails."""
        place = tempfile.mkdtemp(dir=self._place)
        try:
            files = {path: entry for path, entry in command.files.items() if not _of_the_host(path)}
            scratch = Scratch(
                f"{place}/files",
                files,
                start=command.start,
                always=(*_FOLDERS, command.cwd),
                access={path: bits for path, bits in command.access.items() if path in files},
                real_modes=True,
            )
            if os.geteuid() == 0:
                scratch.give_away(_user(command), command.gid or _NOBODY)
            scratch.close()
            return _Run(command, scratch, self._line(command, scratch.root)).finished()
        finally:
            # Python's own removal recurses, and a program can make folders deeper than that goes.
            subprocess.run(["rm", "-rf", place], stderr=subprocess.DEVNULL)

    def _line(self, command: SandboxCommand, root: str) -> list[str]:
        line = ["bwrap", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
        line += ["--die-with-parent", "--new-session", "--clearenv", "--hostname", "localhost", "--bind", root, "/"]
        argv: tuple[str, ...] = command.argv
        if os.geteuid() == 0:
            line += ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
            drop = ("setpriv", "--reuid", str(_user(command)), "--regid", str(command.gid or _NOBODY), "--clear-groups")
            argv = (*drop, "--no-new-privs", "--inh-caps=-all", *argv)
        else:
            line += ["--unshare-user", "--uid", str(command.uid), "--gid", str(command.gid)]
        line += ["--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev"]
        for folder in ("/lib", "/lib64", "/bin", "/sbin"):
            # Links into /usr on systems of today.
            if os.path.islink(folder):
                line += ["--symlink", os.readlink(folder), folder]
            elif os.path.isdir(folder):
                line += ["--ro-bind", folder, folder]
        if any(isinstance(entry, File) and path.startswith(_LOCAL) for path, entry in command.files.items()):
            line += ["--bind", root + _LOCAL, _LOCAL]
        line += ["--ro-bind", sys.base_prefix, _PYTHON, "--ro-bind", str(self._place / "packages"), _PACKAGES]
        for folder in _packages_of_the_host():
            line += ["--tmpfs", folder, "--remount-ro", folder]
        env = {
            "LD_LIBRARY_PATH": f"{_PYTHON}/lib",
            "PYTHONHASHSEED": str(command.seed % (1 << 32)),
            **command.env,
            **search_path(command, _PACKAGES),
        }
        env["PATH"] = f"{_PYTHON}/bin:{env.get('PATH', '/usr/bin:/bin')}"
        for name, value in env.items():
            line += ["--setenv", name, value]
        return [*line, "--chdir", command.cwd, "--", *argv]


class _Run:
    """One process tree, its pipes, and what ended it."""

    def __init__(self, command: SandboxCommand, scratch: Scratch, line: list[str]) -> None:
        self._command, self._scratch = command, scratch
        limits = command.limits
        processes = _processes_of(os.geteuid() or _user(command)) + _PROCESSES

        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_CPU, (int(limits.work) + 1, int(limits.work) + 2))
            resource.setrlimit(resource.RLIMIT_FSIZE, (limits.scratch, limits.scratch))
            resource.setrlimit(resource.RLIMIT_AS, (limits.memory * 2, limits.memory * 2))
            resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        reading, writing = os.pipe()
        os.write(writing, filter_of_keys())
        os.close(writing)
        try:
            # The parent of this process has one thread at most in Python's own code here: nothing is locked in the child.
            self._process = subprocess.Popen(
                [line[0], "--seccomp", str(reading), *line[1:]],
                pass_fds=[reading],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                preexec_fn=limit,
                start_new_session=True,
                env={"PATH": os.environ.get("PATH", "/usr/bin:/bin")},
            )
        except OSError as error:
            raise SimulatorFault(f"bwrap cannot be started: {error}") from None
        finally:
            os.close(reading)

    def finished(self) -> SandboxOutcome:
        """Wait for the end, enforcing the limits, and return what happened."""
        begun = time.monotonic()
        command = self._command
        try:
            output, ended_by = talk(self._process, command.stdin, room=command.limits.output, over=self._over)
        finally:
            self._kill()
            for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
                if pipe is not None:
                    with suppress(BrokenPipeError):
                        pipe.close()
        code = self._process.wait()
        if code < 0:
            code = 128 - code
        if code in (128 + signal.SIGXCPU, 128 + signal.SIGKILL) and ended_by is None:
            ended_by = "work"
        passed = steadied_time(time.monotonic() - begun)
        self._scratch.reopen()
        changes = self._scratch.changes({}, now=command.start + passed)
        return SandboxOutcome(
            exit_code=137 if ended_by else code,
            output=steadied(output),
            changes={path: entry for path, entry in changes.items() if not _of_the_host(path)},
            ended_by=ended_by,
            seconds=passed,
            exact=False,
        )

    def _kill(self) -> None:
        # The namespace's first process: all others die with it.
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _over(self, passed: float) -> Ending | None:
        limits = self._command.limits
        if passed > min(limits.wall, limits.seconds):
            return "wall"
        used = usage(self._scratch.root)
        return "scratch" if used.size > limits.scratch or used.entries > limits.files else None


@cache
def _packages_of_the_host() -> list[str]:
    """Return the folders of packages that are installed beside this Python, where a program would see them: they are not the world's."""
    patterns = ("lib/python3*/*-packages", "local/lib/python3*/*-packages")
    found = [folder for pattern in patterns for folder in sorted(Path(sys.base_prefix).glob(pattern))]
    return [f"{_PYTHON}/{folder.relative_to(sys.base_prefix)}" for folder in found if folder.is_dir()]


def _of_the_host(path: str) -> bool:
    whole = f"{path}/"
    return whole.startswith(_OF_THE_HOST) and not whole.startswith(_LOCAL)


def _user(command: SandboxCommand) -> int:
    """Return the user as whom the program runs where this process is root: never root, of whom the kernel counts no processes."""
    return command.uid or _NOBODY


def _processes_of(user: int) -> int:
    """Return how many threads a user has on this machine: the kernel counts all of them against the limit."""
    count = 0
    for entry in os.scandir("/proc"):
        with suppress(OSError):
            if entry.name.isdigit() and entry.stat().st_uid == user:
                count += len(os.listdir(f"/proc/{entry.name}/task"))
    return count
