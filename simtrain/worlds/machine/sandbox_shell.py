"""A real bash over the files of a machine: each script runs in a sandbox, with real programs, and what it left is taken over."""

from collections.abc import Callable, Mapping

from simtrain.contracts.sandbox_runs import Changes, Entry, File, Folder, SandboxCommand, SandboxLimits, SandboxOutcome
from simtrain.worlds.machine.accounts import User
from simtrain.worlds.machine.binary import as_bytes, as_text
from simtrain.worlds.machine.engine import ENDINGS, Ending, Finished
from simtrain.worlds.machine.machine import Machine
from simtrain.worlds.machine.python_runs import carried, write_back
from simtrain.worlds.machine.python_sandbox import opened_sandbox

_OWN = "/run/shell"
# What the sandbox has of the host in the place of the machine's own.
_OF_THE_HOST = ("/usr/", "/opt/", "/lib", "/bin", "/sbin", "/proc/", "/dev/", "/sys/", f"{_OWN}/")
_BUBBLEWRAP = "bubblewrap"
# In a container nothing new can be made in `/`: what tasks are used to find or make there is there.
_ROOMS = ("/app", "/data", "/logs", "/output", "/solution", "/tests", "/workspace")
_LONGEST = 600.0
_MEMORY = 2 << 30
_OUTPUT = 4 << 20
_SCRATCH = 256 << 20
_FILES = 50_000
_CALL = rf"""
_left() {{
    local _code=$? _name _said
    {{
        pwd
        for _name in $(compgen -v); do
            case $_name in
            BASH*|FUNCNAME|GROUPS|DIRSTACK|PIPESTATUS|EUID|UID|PPID|SHELLOPTS|RANDOM|SRANDOM|SECONDS|EPOCH*|LINENO|_*) continue ;;
            esac
            _said=$(declare -p "$_name" 2>/dev/null)
            [[ $_said =~ ^declare\ -[a-zA-Z]*r ]] || printf '%s\n' "$_said"
        done
        unset -f _left
        declare -f
    }} > {_OWN}/left
    exit $_code
}}
trap _left EXIT
. {_OWN}/state 2>/dev/null
cd -- "$_DIRECTORY"
unset _DIRECTORY
if [ "$_CODE" != 0 ]; then (exit "$_CODE"); fi
. {_OWN}/script
"""
"""Variables, functions and the directory are noted at the end of each script and are there again at the beginning of the next."""


class SandboxShell:
    """One shell, whose scripts run in a sandbox with a bash. What they leave in the background ends with them."""

    def __init__(
        self,
        machine: Machine,
        user: User,
        *,
        directory: str,
        environment: Mapping[str, str],
        sandbox: str,
        state: bytes | None = None,
    ) -> None:
        """Open a shell for a user, in a sandbox by its name."""
        self._machine = machine
        self._sandbox = sandbox
        self.user = user
        self._directory = directory
        self._environment = environment
        self._declared = b""
        self._code = 0
        if state is not None:
            code, place, self._declared = state.split(b"\0", 2)
            self._code, self._directory = int(code), place.decode()

    @property
    def _on_host(self) -> bool:
        """Whether the programs are those of this machine."""
        return self._sandbox == _BUBBLEWRAP

    @property
    def _hidden(self) -> tuple[str, ...]:
        """The folders that a script sees in place of the machine's own, and those that are this shell's alone."""
        return _OF_THE_HOST if self._on_host else ("/proc/", "/dev/", "/sys/", f"{_OWN}/")

    @property
    def directory(self) -> str:
        return self._directory

    def run(self, script: str, *, stdin: str | None = None, listen: Callable[[str], None] | None = None) -> Finished:
        machine = self._machine
        files = machine.files(self.user)
        machine.settle()
        entries, access = carried(files)
        before: dict[str, Entry] = {} if self._on_host else {room: Folder() for room in _ROOMS}
        before |= {path: entry for path, entry in entries.items() if not path.startswith(self._hidden)}
        before |= {
            _OWN: Folder(),
            f"{_OWN}/state": File(self._declared),
            f"{_OWN}/script": File(script.encode(errors="replace") + b"\n"),
        }
        own = {
            "PATH": self._environment.get("PATH", "/usr/bin:/bin"),
            "_DIRECTORY": self._directory,
            "_CODE": str(self._code),
        }
        left = _LONGEST if machine.deadline is None else max(0.1, machine.deadline - machine.clock.moment)
        size = sum(len(entry.content) for entry in before.values() if isinstance(entry, File))
        limits = SandboxLimits(
            work=left,
            seconds=left,
            wall=left,
            memory=_MEMORY,
            output=_OUTPUT,
            scratch=size + 4096 * len(before) + min(_SCRATCH, files.free),
            files=len(before) + _FILES,
        )
        outcome = opened_sandbox(self._sandbox).run(
            SandboxCommand(
                ("bash", "--noprofile", "--norc", "-c", _CALL),
                files=before,
                stdin=as_bytes(stdin or ""),
                env={**self._environment, **own},
                cwd="/",
                start=machine.moment,
                seed=machine.draw("bash"),
                uid=self.user.uid,
                gid=machine.group_number(self.user.group),
                access=access,
                limits=limits,
            )
        )
        finished = self._taken_over(outcome)
        if listen is not None:
            listen(finished.screen)
        return finished

    def _taken_over(self, outcome: SandboxOutcome) -> Finished:
        left = outcome.changes.get(f"{_OWN}/left")
        if isinstance(left, File):
            place, _, self._declared = left.content.partition(b"\n")
            self._directory = place.decode(errors="replace")
        changes: Changes = {
            path: entry for path, entry in outcome.changes.items() if not f"{path}/".startswith(self._hidden)
        }
        # The rooms that have been moved into.
        rooms = {f"/{path.split('/')[1]}" for path, entry in changes.items() if entry is not None} & {*_ROOMS}
        tree = self._machine.files(self.user).tree
        changes = {**{room: Folder() for room in sorted(rooms) if tree.get(room) is None}, **changes}
        problems = write_back(self._machine.files(self.user), changes)
        stderr = _as_bash(as_text(outcome.stderr))
        screen = _as_bash(as_text(b"".join(part for _, part in outcome.output)))
        said = "".join(f"bash: {error.filename or ''}: {error.strerror}\n" for error in problems[:3])
        code, ending = outcome.exit_code, _ending(outcome)
        if outcome.ended_by in ("scratch", "output"):
            said += "bash: write error: No space left on device\n" if outcome.ended_by == "scratch" else "Killed\n"
        if ending:
            code, words = ENDINGS[ending]
            said += words
        elif problems and code == 0:
            code = 1
        self._code = code
        self._machine.pass_time(outcome.seconds)
        return Finished(as_text(outcome.stdout), stderr + said, screen + said, code, ending)

    def awaits_more(self, script: str) -> bool:
        return False

    def stop(self, why: Ending = "timeout") -> None:
        """Do nothing: a script is ended by the limits that it was started with."""

    def save(self) -> bytes:
        return b"\0".join((str(self._code).encode(), self._directory.encode(), self._declared))

    def close(self) -> None:
        """Do nothing: each script has a bash of its own."""


def _ending(outcome: SandboxOutcome) -> Ending:
    if outcome.ended_by in ("work", "wall", "seconds"):
        return "timeout"
    return "memory" if outcome.ended_by == "memory" else ""


def _as_bash(text: str) -> str:
    return text.replace(f"{_OWN}/script: line ", "bash: line ")
