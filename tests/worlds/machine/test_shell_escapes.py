"""Nothing gets out of the shell of a machine world: attempts at files, environment, network and processes, checked from outside."""

from __future__ import annotations

import ctypes
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import process_time

import pytest

from simtrain.contracts.request import Request
from simtrain.files.yaml_files import parse_document
from simtrain.values.types import JsonObject
from simtrain.worlds.machine.source import MachineSource
from simtrain.worlds.machine.world import MachineState, MachineWorld
from tests.worlds.machine.shell_escapes import ATTEMPTS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="watches files by inotify")

SECRET = "the secret of the host"
SAMPLE = tuple(ATTEMPTS)[::7]
LONGEST = 30.0
"""Seconds of CPU that an attempt may take: the limit of a script is 20."""
CLEAN = "pwd; whoami; env | sort; ls -la ~ / /tmp; echo $((6 * 7)); umask; set -o | head -n 5; date; id; git --version; echo $RANDOM"
WORLD = """
kind: machine
name: place
hostname: oak
user: ann
users: {ann: {sudo: true}}
schema: |
  create table staff (name text primary key);
rows:
  staff: [{name: Zoe}]
services:
  web: {command: /usr/sbin/web, port: 80, answers: [{path: /, template: hello}]}
packages: {apt: {git: 2.39.5, curl: 7.88.1}}
commands:
  people: {sql: "select name from staff where name = :a1"}
  card: {template: "card of {{ arguments[0] }}"}
files: [{path: /etc/hosts, content: "127.0.0.1 localhost web\\n10.0.0.2 other\\n"}]
machines:
  other: {users: {ann: {}}}
"""
_FORBIDDEN = (
    "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.kill", "os.killpg", "os.putenv", "os.unsetenv",
    "socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname", "os.remove", "os.rename", "os.mkdir", "os.rmdir",
    "os.link", "os.symlink", "os.chmod", "os.chown", "os.truncate", "shutil.copyfile", "shutil.rmtree", "urllib.Request", "webbrowser.open",
)  # fmt: skip
_OPENED, _ALL = 0x20 | 0x1, 0xFFF
"""IN_OPEN and IN_ACCESS; all events of inotify(7)."""


@dataclass
class Host:
    """What an attempt could reach, and what has come to pass there."""

    folder: Path
    canary: Path
    port: int
    process: subprocess.Popen[bytes]
    world: MachineWorld
    watch: int
    arrived: list[str] = field(default_factory=list[str])
    audited: list[str] = field(default_factory=list[str])
    clean: str = ""
    watching: bool = False

    def line(self, script: str) -> str:
        words = {
            "CANARY": self.canary,
            "FOLDER": self.folder,
            "PORT": self.port,
            "PID": self.process.pid,
            "MINE": os.getpid(),
        }
        return re.sub(
            r"(?<![A-Z_])(?:CANARY|FOLDER|PORT|PID|MINE)(?![A-Z_])", lambda found: str(words[found[0]]), script
        )

    def run(self, state: MachineState, script: str) -> str:
        call: JsonObject = {"command": script, "timeout": 600}
        observation = state.answer(Request(self.world.tools[0], call, 0, 0))
        return f"{observation.text}\n{observation.structured}"

    def opened(self) -> bytes:
        try:
            return os.read(self.watch, 65536)
        except BlockingIOError:
            return b""

    def state(self) -> tuple[object, ...]:
        found = sorted(str(path) for path in self.folder.rglob("*"))
        status = self.canary.stat()
        return found, status.st_mode, status.st_size, status.st_mtime_ns, status.st_nlink, self.process.poll()


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder = tmp_path_factory.mktemp("canary")
    canary = folder / "canary.txt"
    canary.write_text(f"{SECRET}\n")
    document = parse_document(WORLD, Path("place.yaml"))
    world = MachineSource.load(document).configured(document, {}, ()).build()
    assert isinstance(world, MachineWorld)
    os.environ["SIMTRAIN_CANARY"] = SECRET
    process = subprocess.Popen(["sleep", "10000"])
    libc = ctypes.CDLL(None)
    watch = libc.inotify_init1(os.O_NONBLOCK)
    libc.inotify_add_watch(watch, str(folder).encode(), _ALL)
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as local:
        local.bind(str(folder / "socket"))
        local.listen()
        found = Host(folder, canary, server.getsockname()[1], process, world, watch)
        for one in (server, local):
            threading.Thread(target=_listen, args=(one, found.arrived), daemon=True).start()

        def audit(event: str, arguments: tuple[object, ...]) -> None:
            if not found.watching:
                return
            if event in _FORBIDDEN or (event == "open" and str(found.folder) in str(arguments[0])):
                found.audited.append(f"{event} {arguments}")

        # It stays until the process ends, and hears nothing from then on.
        sys.addaudithook(audit)
        # What is imported when it is first needed has been, and a first episode has shown what is clean.
        found.run(world.open(), "git init -q g; date; tar c g | tar t; sqlite3 x 'select 1'; zip -q x.zip x; jq -n 1")
        found.clean = found.run(world.open(), CLEAN)
        yield found
        server.shutdown(socket.SHUT_RDWR)
        local.shutdown(socket.SHUT_RDWR)
    os.close(watch)
    process.kill()
    process.wait()
    del os.environ["SIMTRAIN_CANARY"]


def _listen(server: socket.socket, arrived: list[str]) -> None:
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        arrived.append("somebody")
        connection.close()


def _check(host: Host, name: str) -> None:
    before = host.state()
    host.opened()
    host.audited.clear()
    begun = process_time()
    state = host.world.open()
    host.watching = True
    try:
        told = host.run(state, host.line(ATTEMPTS[name]))
        again = host.run(state, "echo still here")
    finally:
        host.watching = False
    assert SECRET not in told, told[:3000]
    assert "LEAKED" not in told, told[:3000]
    assert "still here" in again or "logout" in again, again
    assert host.opened() == b"", "somebody opened or changed the canary's folder"
    assert host.state() == before and not host.arrived and not host.audited, host.audited
    assert len(told) < 200_000 and process_time() - begun < LONGEST
    state.close()
    assert host.run(host.world.open(), CLEAN) == host.clean


@pytest.mark.full
@pytest.mark.parametrize("name", [name for name in ATTEMPTS if name not in SAMPLE])
def test_nothing_gets_out(host: Host, name: str) -> None:
    _check(host, name)


@pytest.mark.parametrize("name", SAMPLE)
def test_none_of_a_sample_gets_out(host: Host, name: str) -> None:
    _check(host, name)


def test_there_are_attempts_of_every_kind() -> None:
    assert len(ATTEMPTS) >= 60
    assert {name.partition(":")[0] for name in ATTEMPTS} == {
        *("host files", "environment", "network", "processes", "tools", "floods")
    }


def test_what_the_checks_look_for_is_seen(host: Host) -> None:
    host.opened()
    host.watching = True
    assert host.canary.read_text() and host.opened()
    with socket.create_connection(("127.0.0.1", host.port)):
        pass
    host.watching = False
    while not host.arrived:
        pass
    assert {event.partition(" ")[0] for event in host.audited} >= {"open", "socket.connect"}
    host.arrived.clear()
    host.audited.clear()
