"""`python3` of a machine world in the sandboxes with a real clock: over the machine's own files, with its packages, as its user."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from harbor_folders import write_harbor
from sandboxes import real_clock_sandbox

from simtrain.scenarios.load import load_world
from simtrain.worlds.machine.world import MachineState

pytestmark = pytest.mark.slow

WORLD = """\
kind: machine
name: shed
clock: {start: 2031-03-03T09:00:00Z}
hostname: oak
user: ann
users: {ann: {sudo: true}, ben: {}}
sandbox: bubblewrap
packages: {apt: {python3: 3.14.0-1}, pip: {shapes: "1.0"}}
index:
  pip:
    shapes:
      - {version: "1.0", files: {shapes/__init__.py: "def area(a, b):\\n    return a * b\\n"}}
    lengths:
      - {version: "2.0", files: {lengths.py: "METRE = 100\\n"}}
files:
  - {path: /home/ann/a.txt, content: "first\\n", owner: ann}
  - {path: /home/ann/run.sh, content: "#!/bin/sh\\necho ran $1\\n", owner: ann, mode: "0755"}
  - {path: /srv/secret, content: "secret\\n", mode: "0600"}
  - {path: /srv/shown, content: "shown\\n"}
  - {path: /opt/app/state, content: "0\\n", owner: ann}
  - {path: /usr/local/bin/tool, content: "#!/bin/sh\\necho tool\\n", mode: "0755"}
"""


@pytest.fixture(params=["bubblewrap", pytest.param("docker", marks=pytest.mark.full)])
def state(request: pytest.FixtureRequest, tmp_path: Path) -> MachineState:
    """A machine whose Python runs in the sandbox of this name."""
    text = WORLD.replace("sandbox: bubblewrap", f"sandbox: '{real_clock_sandbox(request.param)}'")
    opened = load_world(write_harbor(tmp_path, {"shed.yaml": text}) / "shed.yaml").build().open()
    assert isinstance(opened, MachineState)
    return opened


def say(state: MachineState, script: str) -> str:
    finished = state.run_script(script, until=state.clock.moment + 60)
    return finished.screen + (f"[{finished.exit_code}]" if finished.exit_code else "")


def test_it_reads_and_writes_the_files_of_the_machine(state: MachineState) -> None:
    program = "import os; print(os.getcwd(), open('a.txt').read().strip()); open('b.txt', 'w').write('second\\n'); os.remove('a.txt')"
    assert say(state, f'python3 -c "{program}"; cat b.txt; ls') == "/home/ann first\nsecond\nb.txt\nrun.sh\n"
    assert say(state, "python3 -c \"open('/opt/app/state', 'w').write('1\\n')\"; cat /opt/app/state") == "1\n"


def test_it_starts_programs_of_the_machine(state: MachineState) -> None:
    program = "import subprocess; print(subprocess.run(['./run.sh', 'it'], capture_output=True, text=True).stdout)"
    assert say(state, f'python3 -c "{program}"') == "ran it\n\n"


def test_it_is_the_python_of_this_environment_in_bubblewrap(
    state: MachineState, request: pytest.FixtureRequest
) -> None:
    if "docker" in request.node.name:
        pytest.skip("in a container it is that of the image")
    version = ".".join(map(str, sys.version_info[:3]))
    program = "import platform, subprocess; print(platform.python_version(), subprocess.run('tool', capture_output=True, text=True).stdout)"
    assert say(state, f'python3 -c "{program}"') == f"{version} tool\n\n"


def test_nothing_that_is_installed_on_the_host_can_be_imported(state: MachineState) -> None:
    program = (
        "import importlib.metadata as m; print({one.name for one in m.distributions()} & {'simtrain', 'pydantic'})"
    )
    assert say(state, f'python3 -c "{program}"') == "set()\n"


def test_it_finds_the_packages_that_pip_installed(state: MachineState) -> None:
    assert say(state, 'python3 -c "import shapes; print(shapes.area(2, 3))"') == "6\n"
    say(state, "pip install lengths")
    assert say(state, 'python3 -c "import lengths; print(lengths.METRE)"') == "100\n"
    say(state, "sudo pip uninstall -y shapes")
    assert (
        say(state, 'python3 -c "import shapes" 2>&1 | tail -n 1') == "ModuleNotFoundError: No module named 'shapes'\n"
    )


def test_what_its_user_may_not_read_or_write_it_cannot(state: MachineState) -> None:
    tried = "python3 -c \"open('{}', '{}')\" 2>&1 | tail -n 1"
    assert (
        say(state, tried.format("/srv/secret", "r")) == "PermissionError: [Errno 13] Permission denied: '/srv/secret'\n"
    )
    assert (
        say(state, tried.format("/srv/shown", "a")) == "PermissionError: [Errno 13] Permission denied: '/srv/shown'\n"
    )
    assert say(state, tried.format("/srv/new", "w")) == "PermissionError: [Errno 13] Permission denied: '/srv/new'\n"
    assert say(state, "python3 -c \"print(open('/srv/shown').read())\"") == "shown\n\n"
    # Nothing of that is a change.
    assert say(state, "stat -c '%a %U %n' /srv/secret /srv/shown") == "600 root /srv/secret\n644 root /srv/shown\n"
    assert (
        say(state, "sudo cat /srv/secret; sudo python3 -c \"open('/srv/new', 'w').write('new')\"; cat /srv/new")
        == "secret\nnew"
    )


def test_tests_of_a_repository_run(state: MachineState) -> None:
    say(state, "mkdir -p work/tests && printf 'def test_it():\\n    assert 1 + 1 == 2\\n' > work/tests/test_it.py")
    assert "1 passed" in say(state, "cd work && python3 -m pytest -q")


def test_whole_seconds_pass_so_that_a_world_does_not_depend_on_the_speed_of_this_machine(state: MachineState) -> None:
    before = state.clock.moment
    say(state, "python3 -c 'import time; time.sleep(1.05)'")
    assert state.clock.moment - before in (1.0, 2.0)
    before = state.clock.moment
    say(state, "python3 -c pass")
    assert (state.clock.moment - before).is_integer()
