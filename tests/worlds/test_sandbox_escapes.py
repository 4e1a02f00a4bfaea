"""Nothing gets out of a sandbox: attempts at host files, processes, the network and the next run, each checked from outside."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from containers import need_docker
from escapes import ATTEMPTS
from sandboxes import opened, texts

from simtrain.contracts.sandbox import OpenSandbox
from simtrain.contracts.sandbox_runs import Entry, File, SandboxCommand, SandboxLimits, SandboxOutcome

SECRET = "SECRET"
SAMPLE = (
    *(
        "host files: the canary by its path",
        "host files: a link to the root",
        "writes: over it by a link",
        "writes: the library",
    ),
    *(
        "processes: subprocess",
        "kernel: its root by /proc",
        "network: TCP",
        "floods: one big file",
        "floods: files that are gone",
    ),
    *("poison: sys.modules", "poison: left files"),
)
BACKENDS = ("wasm", "bubblewrap")
CLEAN = (
    "import json, os, random, sys, time\n"
    "print(random.random())\n"
    "print(json.loads('[1]'), time.time() > 0, os.listdir('.'), os.listdir('/tmp'))\n"
    "print(len(sys.modules), open('a.txt').read())\n"
    "for place in ('/dev/shm', '/dev/mqueue'):\n"
    "    print(os.listdir(place) if os.path.isdir(place) else '')\n"
    "for kind in ('shm', 'msg', 'sem'):\n"
    "    path = f'/proc/sysvipc/{kind}'\n"
    "    print(len(open(path).readlines()) if os.path.exists(path) else '')\n"
)
AT_ONCE = 6


@dataclass
class Host:
    """What an attempt could reach: a file with a secret, a port, the process that waits; and what it was before."""

    box: OpenSandbox
    folder: Path
    canary: Path
    port: int
    pid: int
    arrived: list[bytes] = field(default_factory=list)
    first: SandboxOutcome = field(init=False)

    def __post_init__(self) -> None:
        self.first = self.clean()

    def command(self, program: str) -> SandboxCommand:
        head = f"CANARY, PORT, WARM, HOST_HOME = {str(self.canary)!r}, {self.port}, {self.pid}, {str(Path.home())!r}\n"
        limits = SandboxLimits(
            work=3, seconds=5, wall=8, memory=160 << 20, output=100_000, scratch=16 << 20, files=2_000
        )
        return SandboxCommand(
            ("python3", "-c", head + program),
            files=texts({"a.txt": "a"}),
            cwd="/w",
            env={"HOME": "/root"},
            limits=limits,
        )

    def clean(self) -> SandboxOutcome:
        return self.box.run(SandboxCommand(("python3", "-c", CLEAN), files=texts({"a.txt": "a"}), cwd="/w"))

    def state(self) -> tuple[object, ...]:
        found = sorted((str(one), one.is_dir() or one.read_bytes()) for one in self.folder.rglob("*"))
        status = self.canary.stat()
        return tuple(found), status.st_mode, status.st_mtime_ns, tuple(self.arrived)


@pytest.fixture(scope="module", params=BACKENDS)
def host(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with reachable(request.param, tmp_path_factory) as found:
        yield found


@pytest.fixture(scope="module")
def docked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    need_docker()
    with reachable("docker", tmp_path_factory) as found:
        yield found


@contextmanager
def reachable(name: str, tmp_path_factory: pytest.TempPathFactory) -> Generator[Host]:
    """A host with the sandbox of a name."""
    folder = tmp_path_factory.mktemp("canary")
    for one in (folder, *folder.parents):
        if os.access(one, os.W_OK) and one != Path("/"):
            one.chmod(one.stat().st_mode | 0o055)
    canary = folder / "canary.py"
    canary.write_text(f"print('{SECRET}')\n")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("SIMTRAIN_CANARY", SECRET)
        with opened(name) as box, socket.create_server(("127.0.0.1", 0)) as server:
            found = Host(box, folder, canary, server.getsockname()[1], getattr(box, "pid", os.getpid()))
            threading.Thread(target=_listen, args=(server, found.arrived), daemon=True).start()
            yield found
            server.shutdown(socket.SHUT_RDWR)


def _listen(server: socket.socket, arrived: list[bytes]) -> None:
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        arrived.append(b"somebody")
        connection.close()


def _check(host: Host, name: str) -> None:
    before = host.state()
    try:
        ran = host.box.run(host.command(ATTEMPTS[name]))
    # The worst that an attempt may do is to end its own run without an outcome.
    finally:
        again = host.clean()
    _check_outcome(host, ran)
    assert host.state() == before
    _check_next(host, again)


def _check_outcome(host: Host, ran: SandboxOutcome) -> None:
    told = b"".join(part for _, part in ran.output)
    assert SECRET.encode() not in told, told[:2000]
    assert b"LISTENING" not in told or getattr(host.box, "pid", None) is None
    assert len(told) <= 100_100
    assert all(path.startswith("/") and ".." not in path.split("/") for path in ran.changes)


def _check_next(host: Host, again: SandboxOutcome) -> None:
    """Check that a run finds what the first one found; without a virtual clock, chance differs."""
    assert again.exit_code == 0, again
    skipped = 0 if again.exact else 1
    assert again.stdout.splitlines()[skipped:] == host.first.stdout.splitlines()[skipped:]


@pytest.mark.full
@pytest.mark.parametrize("group", sorted({name.partition(":")[0] for name in ATTEMPTS}))
def test_nothing_gets_out_of_containers(docked: Host, group: str) -> None:
    """Several at a time, since a container takes long to begin; each in one of its own."""
    names = [name for name in ATTEMPTS if name.startswith(f"{group}:")]
    before = docked.state()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = dict(
            zip(names, pool.map(lambda name: docked.box.run(docked.command(ATTEMPTS[name])), names), strict=True)
        )
    for name, ran in found.items():
        print(name, ran.exit_code, ran.ended_by)
        _check_outcome(docked, ran)
    assert docked.state() == before
    _check_next(docked, docked.clean())


@pytest.mark.full
@pytest.mark.parametrize("name", [name for name in ATTEMPTS if name not in SAMPLE])
def test_nothing_gets_out(host: Host, name: str) -> None:
    _check(host, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLE)
def test_none_of_a_sample_gets_out(host: Host, name: str) -> None:
    _check(host, name)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_opened_again_after_a_run_lies_in_its_folder(backend: str, tmp_path: Path) -> None:
    outside = tmp_path / "closed"
    outside.write_text(SECRET)
    outside.chmod(0o400)
    program = f"import os; os.rename('d', 'e'); os.symlink({'../' * 40 + str(tmp_path)[1:]!r}, 'd'); print('done')"
    files: dict[str, Entry] = {"/w/d/closed": File(b"mine")}
    command = SandboxCommand(("python3", "-c", program), files=files, cwd="/w", access={"/w/d/closed": 5})
    with opened(backend) as box:
        ran = box.run(command)
    assert ran.stdout == b"done\n" and ran.changes["/w/d/closed"] is None
    assert outside.stat().st_mode & 0o777 == 0o400


def test_there_are_attempts_of_every_kind() -> None:
    assert len(ATTEMPTS) >= 80
    assert {name.partition(":")[0] for name in ATTEMPTS} == {
        *("host files", "writes", "processes", "kernel", "network", "floods", "poison", "container")
    }


@pytest.mark.slow
def test_no_process_stays_when_a_sandbox_is_closed_in_the_middle_of_a_run() -> None:
    with opened("wasm") as box:
        pid: int = box.pid  # type: ignore[attr-defined]
        command = SandboxCommand(
            ("python3", "-c", "import select; select.select([], [], [], 1000)"), limits=SandboxLimits(wall=60)
        )
        running = threading.Thread(target=_ignoring, args=(box, command))
        running.start()
        while not _children(pid):
            pass
        child = _children(pid)[0]
    running.join(30)
    assert not running.is_alive()
    with pytest.raises(ProcessLookupError):
        os.kill(child, signal.SIGCONT)


def _children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _ignoring(box: OpenSandbox, command: SandboxCommand) -> None:
    from simtrain.values.errors import SimulatorFault

    with pytest.raises(SimulatorFault):
        box.run(command)
