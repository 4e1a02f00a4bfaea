"""A run of Python over the files of a machine: what its user may see goes into the sandbox, what it changed comes back."""

from errno import ENOSPC
from posixpath import dirname, relpath

from simtrain.contracts.sandbox_runs import (
    Changes,
    Entry,
    File,
    Folder,
    SandboxCommand,
    SandboxLimits,
    SandboxOutcome,
    SymbolicLink,
)
from simtrain.worlds.machine.accounts import READ, SEARCH, WRITE
from simtrain.worlds.machine.binary import as_bytes, as_text
from simtrain.worlds.machine.files import Files
from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.problems import problem
from simtrain.worlds.machine.programs import is_program
from simtrain.worlds.machine.python_sandbox import opened_sandbox

WORK, WALL = 2.5, 60.0
"""Most seconds of computing, by the count of the virtual clock, and of the host: what takes longer is taken to loop for ever."""
_UNLIMITED = 3_600.0
_SCRATCH = 64_000_000
_MORE_FILES = 20_000
_ALL = READ | WRITE | SEARCH
_NOT_CARRIED = ("/dev", "/usr/lib/python3", "/usr/share/zoneinfo", "/proc")


def run_python(call: Invocation, *argv: str) -> Result:
    """Run a command line of Python as the user of a call, and let its virtual time pass."""
    machine, user, files = call.machine, call.user, call.files
    entries, access = carried(files)
    left = _UNLIMITED if machine.deadline is None else max(0.001, machine.deadline - call.moment)
    size = sum(len(entry.content) for entry in entries.values() if isinstance(entry, File))
    limits = SandboxLimits(
        work=WORK,
        seconds=left,
        wall=WALL,
        # The watch counts entries as well, at 4 KiB for each folder.
        scratch=size + 4096 * len(entries) + min(_SCRATCH, files.free),
        files=len(entries) + _MORE_FILES,
    )
    outcome = opened_sandbox(machine.python or "wasm").run(
        SandboxCommand(
            argv,
            files=entries,
            stdin=as_bytes(call.stdin or ""),
            env=dict(call.environment),
            cwd=files.real(call.directory),
            start=call.now,
            seed=machine.draw("python"),
            uid=user.uid,
            gid=machine.group_number(user.group),
            access=access,
            limits=limits,
        )
    )
    return _taken_over(call, outcome, left)


def _taken_over(call: Invocation, outcome: SandboxOutcome, left: float) -> Result:
    stderr, code = as_text(outcome.stderr), outcome.exit_code
    # Where a limit of the host ends a program, the virtual time of the call is what it used up.
    passed = left if outcome.ended_by in ("work", "wall") else outcome.seconds
    if call.machine.jobs.recording:
        # What a job writes is there when its time has passed.
        call.sleep(passed)
        passed = 0.0
    problems = write_back(call.files, outcome.changes)
    if outcome.ended_by == "scratch":
        problems = [problem(ENOSPC, "")]
    if problems:
        # Python would have raised it at the write; here the world finds it afterwards.
        stderr += f"{_worded(problems[0])}\n"
        code = 1
    call.sleep(passed)
    return Result(as_text(outcome.stdout), stderr, code)


def _worded(error: OSError) -> str:
    where = f": {error.filename!r}" if error.filename else ""
    return f"{type(error).__name__}: [Errno {error.errno}] {error.strerror}{where}"


def carried(files: Files) -> tuple[dict[str, Entry], dict[str, int]]:
    """Return all that the user of some files can reach, and what they may do where they may not do everything."""
    entries: dict[str, Entry] = {}
    access: dict[str, int] = {}
    tree, user = files.tree, files.user
    read_only = tuple(f"{mount.rstrip('/')}/" for mount in files.disk.read_only)
    waiting = ["/"]
    while waiting:
        path = waiting.pop()
        node = tree.get(path)
        if node is None or path.startswith(_NOT_CARRIED):
            continue
        if node.kind == "file" and is_program(node.content):
            # What runs Python knows no commands of the shell.
            continue
        if node.kind == "link":
            # The sandbox knows no root above its folder, so a link tells the way from where it lies.
            target = relpath(node.target, dirname(path)) if node.target.startswith("/") else node.target
            entries[path] = SymbolicLink(target)
            continue
        bits = sum(bit for bit in (READ, WRITE, SEARCH) if user.may(bit, node))
        if f"{path}/".startswith(read_only) and read_only:
            bits &= ~WRITE
        if node.kind == "file":
            bits |= SEARCH
            entries[path] = File(node.content if bits & READ else b"", node.mode, node.modified)
        elif node.kind == "directory":
            if path != "/":
                entries[path] = Folder(node.mode)
            if bits & SEARCH:
                waiting += [f"{path.rstrip('/')}/{name}" for name in tree.names(path)]
        else:
            continue
        if bits != _ALL:
            access[path] = bits
    return entries, access


def write_back(files: Files, changes: Changes) -> list[OSError]:
    """Write what a run left into the files of a machine, as their user, and return what could not be written."""
    problems: list[OSError] = []
    gone = [path for path, entry in changes.items() if entry is None]
    left = [(path, entry) for path, entry in changes.items() if entry is not None]
    # What became something else: a file where a folder was, or the other way round.
    gone += [path for path, entry in left if _differs(files, path, entry)]
    for path in sorted(gone, reverse=True):
        try:
            files.remove(path)
        except FileNotFoundError:
            pass
        except OSError as error:
            problems.append(error)
    for path, entry in left:
        try:
            _put(files, path, entry)
        except OSError as error:
            problems.append(error)
    return problems


def _differs(files: Files, path: str, entry: Entry) -> bool:
    node = files.tree.get(path)
    if node is None:
        return False
    kind = "file" if isinstance(entry, File) else "directory" if isinstance(entry, Folder) else "link"
    return node.kind != kind or kind == "link"


def _put(files: Files, path: str, entry: Entry) -> None:
    if isinstance(entry, SymbolicLink):
        files.link(entry.target, path)
        return
    node = files.tree.get(path)
    if isinstance(entry, Folder):
        if node is None:
            files.make_directory(path, mode=entry.mode)
    elif node is None or node.content != entry.content:
        files.write(path, entry.content, mode=entry.mode)
    if files.node(path).mode != entry.mode:
        files.change_mode(path, entry.mode)
    if isinstance(entry, File) and entry.modified is not None:
        files.set_time(path, entry.modified)
