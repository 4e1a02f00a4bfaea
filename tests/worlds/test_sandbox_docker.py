"""What is Docker's own in its sandbox: how a container is held in, what it has of its image, and that none is left behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from containers import IMAGE, docker, need_docker
from harbor_folders import write_harbor
from sandboxes import opened, python, said

from simtrain.contracts.sandbox import OpenSandbox
from simtrain.contracts.sandbox_runs import Entry, File, Folder, SandboxCommand, SandboxLimits
from simtrain.scenarios.load import load_world
from simtrain.values.errors import InputError
from simtrain.worlds.sandbox.docker import container
from simtrain.worlds.sandbox.docker.backend import DockerSandbox
from simtrain.worlds.sandbox.naming import backend_of

WORLD = """\
kind: machine
name: box
clock: {start: 2031-03-03T09:00:00Z}
hostname: oak
user: ann
users: {ann: {}}
packages: {apt: {python3: "3.11"}}
sandbox: docker
files:
  - {path: /home/ann/count.py, content: "import threading\\nt = threading.Thread(target=print, args=(41 + 1,)); t.start()\\n"}
  - {path: /etc/own, content: "own\\n"}
"""


@pytest.fixture(scope="module")
def box() -> Iterator[OpenSandbox]:
    need_docker()
    with opened("docker") as running:
        yield running


def of_process(process: int) -> list[str]:
    """The containers that a process has begun."""
    return docker("ps", "--all", "--filter", f"label=simtrain={process}", "--format", "{{.Names}}").split()


def until(true: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.full
def test_a_container_is_held_in_as_the_daemon_tells_it() -> None:
    need_docker()
    limits = SandboxLimits(memory=100 << 20, scratch=30 << 20, files=900)
    command = SandboxCommand(("sleep", "3"), cwd="/w", uid=1234, gid=2345, limits=limits)
    before = set(of_process(os.getpid()))
    with opened("docker") as box:
        running = threading.Thread(target=box.run, args=(command,))
        running.start()
        try:
            until(lambda: set(of_process(os.getpid())) - before)
            (name,) = set(of_process(os.getpid())) - before
            (told,) = json.loads(docker("inspect", name))
        finally:
            running.join()
    host = told["HostConfig"]
    assert told["Config"]["User"] == "1234:2345"
    assert (host["NetworkMode"], host["ReadonlyRootfs"], host["Privileged"]) == ("none", True, False)
    assert (host["CapDrop"], host["CapAdd"], host["SecurityOpt"]) == (["ALL"], None, ["no-new-privileges"])
    assert (host["PidsLimit"], host["Memory"], host["MemorySwap"]) == (64, 132 << 20, 132 << 20)
    assert (host["Binds"], host.get("Mounts"), host["Devices"], host["PidMode"], host["IpcMode"]) == (
        None,
        None,
        [],
        "",
        "private",
    )
    assert "size=33554432,nr_inodes=1024" in host["Tmpfs"]["/w"]


@pytest.mark.full
def test_no_container_stays_where_the_process_that_has_begun_it_is_killed(box: OpenSandbox) -> None:
    program = (
        "from simtrain.contracts.sandbox_runs import SandboxCommand\n"
        "from simtrain.worlds.sandbox.docker.backend import DockerSandbox\n"
        "with DockerSandbox().opened() as box:\n    box.run(SandboxCommand(('sleep', '100')))\n"
    )
    running = subprocess.Popen([sys.executable, "-c", program])
    until(lambda: of_process(running.pid))
    running.send_signal(signal.SIGKILL)
    running.wait()
    until(lambda: not of_process(running.pid))


@pytest.mark.full
def test_memory_that_many_processes_take_together_is_limited(box: OpenSandbox) -> None:
    program = (
        "import os, time\nfor n in range(6):\n    if os.fork() == 0:\n        x = bytearray(b'x') * (60 << 20); time.sleep(20)\n"
        "x = bytearray(b'x') * (90 << 20); time.sleep(20)"
    )
    limits = SandboxLimits(memory=80 << 20, scratch=16 << 20, wall=10)
    ran = python(box, "-c", program, limits=limits)
    assert ran.ended_by in ("memory", "wall") and ran.exit_code == 137
    full = "for n in range(9):\n    open(f'/dev/shm/{n}', 'wb').write(b'x' * (4 << 20))"
    assert b"No space left on device" in python(box, "-c", full, limits=limits).stderr


@pytest.mark.full
def test_what_the_command_may_not_access_is_closed_to_the_program_and_is_no_change(box: OpenSandbox) -> None:
    files: dict[str, Entry] = {
        "/w/secret": File(b"s", 0o600), "/w/fixed": File(b"f"), "/w/box": Folder(0o700), "/w/box/in": File(b"i"), "/w/free": File(b"x"),
    }  # fmt: skip
    program = (
        "import os\n"
        "for act in (lambda: open('secret'), lambda: open('fixed', 'a'), lambda: open('new', 'w'), lambda: os.listdir('box'),\n"
        "            lambda: open('box/in'), lambda: os.remove('free'), lambda: os.rename('free', 'freed')):\n"
        "    try:\n        act(); print('done')\n    except PermissionError as error:\n        print(error.errno)\n"
        "print(open('fixed').read()); open('free', 'w').write('y')\n"
    )
    access = {"/w": 5, "/w/secret": 0, "/w/fixed": 4, "/w/box": 0}
    ran = box.run(SandboxCommand(("python3", "-c", program), files={"/w": Folder(), **files}, cwd="/w", access=access))
    told = said(ran).splitlines()
    assert "done" not in told and told[-1] == "f" and len(told) == 8
    assert set(ran.changes) == {"/w/free"}


@pytest.mark.full
def test_a_folder_of_the_image_that_is_covered_keeps_what_programs_need(box: OpenSandbox) -> None:
    files = {
        "/etc/own": File(b"own"),
        "/etc/os-release": File(b"NAME=own\n"),
        "/var/log/x": File(b""),
        "/usr/bin/python3": File(b""),
    }
    script = (
        "cat /etc/own /etc/os-release; awk 'BEGIN {print 1}'; python3 -c 'print(2)'; echo n > /etc/new; rm /etc/own"
    )
    ran = box.run(SandboxCommand(("sh", "-c", script), files=files, cwd="/tmp"))
    assert said(ran) == "ownNAME=own\n1\n2\n"
    assert set(ran.changes) == {"/etc/new", "/etc/own"} and ran.changes["/etc/own"] is None


@pytest.mark.full
def test_a_command_that_the_daemon_loses_runs_in_another_container(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    need_docker()
    client = shutil.which("docker")
    losing = tmp_path / "docker"
    losing.write_text(
        f'#!/bin/sh\ncd {tmp_path}\nif [ "$1" = exec ]; then echo asked >> asked; [ -e lost ] || {{ touch lost; exec sleep 60; }}; fi\n'
        f'exec {client} "$@"\n'
    )
    losing.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(container, "_BEGINNING", 2.0)
    with opened("docker") as box:
        assert said(python(box, "-c", "print(6 * 7)")) == "42\n"
    assert (tmp_path / "asked").read_text() == "asked\nasked\n"


@pytest.mark.full
def test_python_of_a_world_runs_in_a_container(tmp_path: Path) -> None:
    need_docker()
    state = load_world(write_harbor(tmp_path, {"box.yaml": WORLD}) / "box.yaml").build().open()
    copy = "open('x.txt', 'w').write(open('/etc/own').read())"
    line = f"python3 count.py; python3 -c \"{copy}\"; cat x.txt; python3 -c \"open('/etc/own', 'w')\""
    told = state.run_script(line, until=state.clock.moment + 60)  # type: ignore[attr-defined]
    assert told.stdout == "42\nown\n" and told.stderr.endswith(
        "PermissionError: [Errno 13] Permission denied: '/etc/own'\n"
    )


@pytest.mark.full
def test_an_image_that_is_not_there_is_refused_at_load_with_the_remedy(tmp_path: Path) -> None:
    need_docker()
    for key, what in (("sandbox", "python3 runs"), ("shell", "command lines run")):
        text = WORLD.replace("sandbox: docker", f"{key}: docker:no-such:1")
        told = rf"box\.yaml:8: {key}: {what} in the sandbox `docker:no-such:1`, which does not work here: there is no image 'no-such:1'"
        with pytest.raises(InputError, match=f"{told}; docker pull"):
            load_world(write_harbor(tmp_path, {"box.yaml": text}) / "box.yaml").build()


def test_a_daemon_that_does_not_answer_is_told_with_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    monkeypatch.setenv(IMAGE, "debian:12")
    probe = DockerSandbox().probe()
    assert not probe.ok
    problem, _, remedy = probe.found.partition("; ")
    assert problem.startswith(("no daemon answers: ", "docker is not installed")) and remedy.startswith(
        "install Docker, start its daemon"
    )
    monkeypatch.setenv("PATH", str(tmp_path))
    assert DockerSandbox().probe().found.startswith("docker is not installed; install Docker")
    with pytest.raises(InputError, match="docker is not installed"), DockerSandbox().opened():
        pass


def test_only_a_sandbox_that_has_images_takes_one() -> None:
    with pytest.raises(
        InputError, match="the sandbox `bubblewrap` has no images; write `bubblewrap`, or `docker:debian:12`"
    ):
        backend_of("bubblewrap:debian:12")
    with pytest.raises(InputError, match="unknown sandbox 'dockre'; did you mean 'docker'"):
        backend_of("dockre:debian:12")
    made = backend_of("docker:debian:12")
    assert isinstance(made, DockerSandbox) and made.image == "debian:12" and os.environ.get(IMAGE) != "debian:12"
