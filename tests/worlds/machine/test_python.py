"""Python of a machine world: run in the sandbox over the machine's own files, as its user, by its clock; refused without a sandbox."""

from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from simtrain.contracts.request import Request
from simtrain.files.yaml_files import parse_document
from simtrain.values.clock import instant
from simtrain.values.errors import InputError
from simtrain.values.types import JsonValue, Observation
from simtrain.worlds.machine import python_runs
from simtrain.worlds.machine.machine import Machine
from simtrain.worlds.machine.source import MachineSource
from simtrain.worlds.machine.world import MachineState, MachineWorld
from tests.support.machines import START, machine_of, shell_on
from tests.support.sandboxes import opened

pytestmark = pytest.mark.slow

FILE = """
kind: machine
name: shed
clock: {start: 2031-03-03T09:00:00Z, per_step: 0s}
hostname: oak
user: ann
users: {ann: {sudo: true}}
packages: {apt: {python3: 3.14.0-1}, pip: {shapes: "1.0"}}
index:
  pip:
    shapes:
      - {version: "1.0", summary: Areas, files: {shapes/__init__.py: "def area(a, b):\\n    return a + b\\n"}}
      - {version: "1.1", requires: [lengths>=2], files: {shapes/__init__.py: "from lengths import times\\narea = times\\n"}}
    lengths: {wheel: lengths-2.0-py3-none-any.whl}
files:
  - {path: /srv/secret, content: "secret\\n", mode: "0600"}
  - {path: /srv/frozen/a, content: "a\\n", owner: ann}
disk: {read_only: [/srv/frozen]}
limits: {timeout: 60s}
"""


@pytest.fixture(scope="module", autouse=True)
def _sandbox() -> Iterator[None]:
    # Skips where there is none, and builds it once for all tests.
    with opened("wasm"):
        yield


def _machine(files: dict[str, str | bytes] | None = None) -> Machine:
    return machine_of(files, python="wasm")


def _wheel(folder: Path) -> None:
    with ZipFile(folder / "lengths-2.0-py3-none-any.whl", "w") as made:
        made.writestr("lengths.py", "def times(a, b):\n    return a * b\n")
        made.writestr("lengths-2.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: lengths\nVersion: 2.0\n")


@pytest.fixture
def world(tmp_path: Path) -> MachineWorld:
    _wheel(tmp_path)
    built = MachineSource.load(parse_document(FILE, tmp_path / "shed.yaml")).build()
    assert isinstance(built, MachineWorld)
    return built


def _typed(state: MachineState, command: str) -> Observation:
    return state.answer(Request(state.world.tools[0], {"command": command}, 0, 0))


def test_programs_scripts_modules_and_standard_input_run_with_arguments_and_exit_codes() -> None:
    files: dict[str, str | bytes] = {
        "/home/ann/tool.py": "#!/usr/bin/env python3\nimport os, sys\n"
        "print(sys.argv[1:], os.getcwd(), os.getuid(), os.environ.get('A'))\nsys.exit(3)\n",
        "/home/ann/pack/__main__.py": "import sys\nprint(sys.stdin.read().upper(), end='')\n",
    }
    shell = shell_on(_machine(files))
    ran = shell.run(
        "A=1 python3 tool.py x 'y z'; echo $?; chmod +x tool.py; cd pack; ../tool.py; cd ..; echo abc | python3 -m pack; "
        "echo 'print(6 * 7)' | python3; python3 -c 'import sys; print(1, file=sys.stderr)' 2> err; cat err; ~/tool.py | wc -w"
    )
    assert ran.stdout.splitlines() == [
        "['x', 'y z'] /home/ann 1000 1", "3", "[] /home/ann/pack 1000 None", "ABC", "42", "1", "4",
    ]  # fmt: skip
    failed = shell.run("python3 -c 'import nosuch'")
    assert failed.exit_code == 1 and failed.stderr.endswith("ModuleNotFoundError: No module named 'nosuch'\n")


def test_changes_are_written_back_as_the_user_and_what_the_user_may_not_do_fails_in_the_program() -> None:
    machine = _machine({"/home/ann/old": "1", "/home/ann/keep": "k"})
    ran = shell_on(machine).run(
        "python3 - <<'E'\nimport os\nos.remove('old'); os.mkdir('d'); open('d/new', 'w').write('n'); os.chmod('d/new', 0o600)\n"
        "for path in ('/etc/x', '/root/x', '/home/bob/x'):\n    try:\n        open(path, 'w')\n"
        "    except OSError as error:\n        print(error)\nE\n"
        "sudo python3 -c \"open('/etc/x', 'w').write('root')\""
    )
    assert ran.stdout.splitlines() == [
        f"[Errno 13] Permission denied: '{path}'" for path in ("/etc/x", "/root/x", "/home/bob/x")
    ]
    new, root = machine.tree.get("/home/ann/d/new"), machine.tree.get("/etc/x")
    assert new is not None and (new.content, new.mode, new.owner) == (b"n", 0o600, "ann")
    assert new.modified >= instant(START)
    assert root is not None and (root.content, root.owner) == (b"root", "root")
    assert machine.tree.get("/home/ann/old") is None
    assert set(machine.tree.touched) == {"/home/ann/old", "/home/ann/d", "/home/ann/d/new", "/etc/x"}


def test_a_full_disk_and_a_file_that_is_too_large_are_errors_of_the_program() -> None:
    machine = _machine()
    machine.disk.size = machine.tree.used + 1_000
    shell = shell_on(machine)
    full = shell.run("python3 -c \"open('big', 'w').write('x' * 5000)\"")
    assert full.exit_code == 1 and "[Errno 28] No space left on device" in full.stderr
    machine.disk.size, machine.disk.largest_file = 10**9, 1_000
    large = shell.run("python3 -c \"open('big', 'w').write('x' * 5000)\"")
    assert large.exit_code == 1 and "[Errno 27] File too large" in large.stderr


def test_python_follows_the_clock_of_the_machine_and_moves_it() -> None:
    machine = _machine()
    ran = shell_on(machine).run(
        "python3 -c 'import datetime, time; print(datetime.datetime.now().date()); time.sleep(90)'; date +%T; "
        "timeout 5 python3 -c 'import time; print(1, flush=True); time.sleep(60)'; echo $?; date +%T"
    )
    assert ran.stdout.splitlines() == ["2031-03-03", "09:01:30", "1", "124", "09:01:35"]


def test_a_program_that_computes_for_ever_takes_all_the_time_of_its_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(python_runs, "WORK", 0.1)
    machine = _machine()
    assert shell_on(machine).run("timeout 20 python3 -c 'while True: pass'; echo $?").stdout == "124\n"
    assert machine.clock.moment == instant(START) + 20


def test_the_same_seed_gives_the_same_bytes() -> None:
    script = "python3 -c 'import random, time, uuid; print(random.random(), uuid.uuid4(), time.time())'; date +%s.%N"
    assert shell_on(_machine()).run(script).stdout == shell_on(_machine()).run(script).stdout


def test_pytest_runs_the_tests_of_the_machine_and_its_caches_are_no_changes(world: MachineWorld) -> None:
    state = world.open()
    test = "def test_a():\\n    assert 1 + 1 == 3\\n"
    ran = _typed(state, f"mkdir t; printf '{test}' > t/test_a.py; pytest -q t; python3 -m pytest -q t | tail -n 1")
    assert isinstance(ran.structured, dict)
    assert "E   assert (1 + 1) == 3" in ran.text or "assert (1 + 1) == 3" in ran.text
    assert [str(change.after and change.after["path"]) for change in state.changes()["files"]] == [
        "/home/ann/t", "/home/ann/t/test_a.py",
    ]  # fmt: skip


def test_a_fork_of_the_episode_runs_on_its_own_files(world: MachineWorld) -> None:
    state = world.open()
    _typed(state, "python3 -c \"open('a', 'w').write('1')\"")
    other = state.fork()
    _typed(other, "python3 -c \"open('a', 'a').write('2')\"")
    sql = "select content from files where path = '/home/ann/a'"
    assert (state.query(sql), other.query(sql)) == ([{"content": "1"}], [{"content": "12"}])


def test_a_mounted_directory_is_read_only_for_programs(world: MachineWorld) -> None:
    ran = _typed(
        world.open(), "python3 -c \"open('/srv/frozen/a', 'w')\"; cat /srv/frozen/a; python3 -c \"open('/srv/secret')\""
    )
    assert ran.text.count("PermissionError: [Errno 13] Permission denied") == 2 and "\na\n" in f"\n{ran.text}"


def test_pip_installs_what_the_world_declares_where_python_finds_it(world: MachineWorld) -> None:
    state = world.open()
    area = "python3 -c 'import shapes, importlib.metadata as m; print(shapes.area(3, 4), m.version(\"shapes\"))'"
    assert _typed(state, area).text == "7 1.0"
    told = _typed(state, "pip install -U shapes && " + area)
    assert told.text.splitlines()[-2:] == ["Successfully installed lengths-2.0 shapes-1.1", "12 1.1"]
    assert _typed(state, "pip freeze; ls .local/lib/python3.14/site-packages").text.splitlines()[:2] == [
        "lengths==2.0", "shapes==1.1",
    ]  # fmt: skip
    assert "No matching distribution found for nosuch" in _typed(state, "python3 -m pip install nosuch").text
    gone = _typed(state, "pip uninstall -y lengths; " + area)
    assert "ModuleNotFoundError: No module named 'lengths'" in gone.text


def test_a_machine_without_the_package_has_no_python() -> None:
    shell = shell_on(machine_of({"/home/ann/a.py": "print(1)\n"}))
    ran = shell.run("python3 a.py; echo $?; pytest; which python3")
    assert ran.stdout == "127\n" and ran.stderr.splitlines() == [
        "bash: line 1: python3: command not found", "bash: line 1: pytest: command not found",
    ]  # fmt: skip


def test_a_world_with_python_is_refused_in_one_line_where_no_sandbox_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _wheel(tmp_path)
    # A cache without the component.
    monkeypatch.setenv("SIMTRAIN_CACHE", str(tmp_path / "empty"))
    with pytest.raises(InputError) as told:
        MachineSource.load(parse_document(FILE, tmp_path / "shed.yaml")).build()
    assert "python3 runs in the sandbox `wasm`, which does not work here" in str(told.value)
    assert "pip install 'simtrain[python]'" in str(told.value) and "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('lengths: {wheel: lengths-2.0-py3-none-any.whl}', 'lengths: "2.0"', "nothing says what Python finds in lengths"),
        ('pip: {shapes: "1.0"}', 'pip: {shapes: "3.0"}', "nothing says what Python finds in shapes 3.0"),
        ("lengths-2.0-py3-none-any.whl", "lengths-2.0-cp314-cp314-linux_x86_64.whl", "is no wheel of pure Python"),
        ("lengths-2.0-py3-none-any.whl", "nosuch-2.0-py3-none-any.whl", "there is no file"),
        ("shapes/__init__.py", "../shapes.py", "is no path below site-packages"),
        ("limits:", "sandbox: nosuch\nlimits:", "nosuch"),
    ],
)  # fmt: skip
def test_mistakes_about_python_are_told_with_their_place(tmp_path: Path, old: str, new: str, told: str) -> None:
    _wheel(tmp_path)
    with pytest.raises(InputError) as error:
        MachineSource.load(parse_document(FILE.replace(old, new), tmp_path / "shed.yaml")).build()
    assert told in str(error.value)


def test_tab_completes_python_and_its_programs(tmp_path: Path) -> None:
    _wheel(tmp_path)
    document = parse_document(FILE, tmp_path / "shed.yaml")
    world = MachineSource.load(document).configured(document, {"actions": "keystrokes"}, ()).build()
    assert isinstance(world, MachineWorld)
    state = world.open()

    def press(*keys: str) -> list[str]:
        commands: list[JsonValue] = [{"keystrokes": key, "duration": 0.5} for key in keys]
        return state.answer(Request(state.world.tools[0], {"commands": commands}, 0, 0)).text.split("\n")

    assert press("pyth", "Tab", " -c 'print(6 * 7)'\n")[-3:] == [
        "ann@oak:~$ python3 -c 'print(6 * 7)'",
        "42",
        "ann@oak:~$",
    ]
    assert press("C-l", "pyte", "Tab", "Tab", "Tab")[:3] == [
        "ann@oak:~$ pytest",
        "pytest    pytest-3",
        "ann@oak:~$ pytest",
    ]
    press("C-c", "sudo apt-get remove -y python3\n")
    assert press("C-l", "pyth", "Tab")[0] == "ann@oak:~$ pyth"
