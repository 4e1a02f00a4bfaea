"""What every sandbox with a real clock does alike: files in, limits, changes out, nothing left; in bubblewrap and in Docker."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from containers import need_docker
from sandboxes import opened, python, said, texts

from simtrain.contracts.sandbox import OpenSandbox
from simtrain.contracts.sandbox_runs import File, Folder, SandboxCommand, SandboxLimits, SymbolicLink, changed
from simtrain.values.errors import SimulatorFault

pytestmark = pytest.mark.full


@pytest.fixture(scope="module", params=["bubblewrap", "docker"])
def box(request: pytest.FixtureRequest) -> Iterator[OpenSandbox]:
    if request.param == "docker":
        need_docker()
    with opened(request.param) as running:
        yield running


def test_programs_are_run_as_at_a_shell(box: OpenSandbox) -> None:
    files = {"tool.py": "import sys; print(__name__, sys.argv)", "bad.py": "1 / 0"}
    assert said(python(box, "tool.py", "--x", files=files)) == "__main__ ['tool.py', '--x']\n"
    assert said(python(box, "-", "a b", stdin="import sys; print(sys.argv)\n")) == "['-', 'a b']\n"
    assert said(python(box, "-c", "import sys; print(repr(sys.stdin.read()))", stdin="é\n")) == "'é\\n'\n"
    failed = python(box, "bad.py", files=files)
    assert (failed.exit_code, failed.stderr.decode().splitlines()[-1]) == (1, "ZeroDivisionError: division by zero")
    assert [python(box, "-c", f"import sys; sys.exit({code})").exit_code for code in (0, 3)] == [0, 3]
    killed = python(box, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGTERM)")
    assert (killed.exit_code, killed.output) == (143, ())
    assert box.run(SandboxCommand(("no-such-program",))).exit_code != 0


def test_programs_start_others_and_threads(box: OpenSandbox) -> None:
    program = (
        "import subprocess, threading\n"
        "t = threading.Thread(target=print, args=('thread',)); t.start(); t.join()\n"
        "print(subprocess.run(['sh', '-c', 'echo out; echo err >&2'], capture_output=True))\n"
    )
    assert said(python(box, "-u", "-c", program)).splitlines() == [
        "thread", "CompletedProcess(args=['sh', '-c', 'echo out; echo err >&2'], returncode=0, stdout=b'out\\n', stderr=b'err\\n')"
    ]  # fmt: skip


def test_files_are_put_in_and_changes_taken_out(box: OpenSandbox) -> None:
    files = {
        "/w/a.txt": File(b"a"),
        "/w/b.txt": File(b"b", 0o600),
        "/w/run.sh": File(b"#!/bin/sh\necho ran\n", 0o755),
        "/w/old": File(b"", 0o644, 1_000_000_000.0),
        "/w/l": SymbolicLink("a.txt"),
        "/home/ann/deep/er/x": File(b"\x00\xff"),
    }
    program = (
        "import os, stat, subprocess\n"
        "print(oct(os.stat('b.txt').st_mode), oct(os.stat('run.sh').st_mode), os.readlink('l'), sorted(os.listdir('.')))\n"
        "print(int(os.stat('old').st_mtime), int(os.stat('a.txt').st_mtime), open('/home/ann/deep/er/x', 'rb').read())\n"
        "print(subprocess.run(['./run.sh'], capture_output=True).stdout)\n"
        "os.remove('a.txt'); os.chmod('run.sh', 0o644); os.mkdir('new'); open('new/x', 'w').write('x')\n"
        "os.rename('b.txt', 'c.txt'); os.symlink('c.txt', 'm'); os.mkdir('empty'); os.link('new/x', 'new/y')\n"
        "open('/tmp/t', 'w').write('t'); os.utime('old', (5, 7)); open(b'\\xff', 'w'); os.mkfifo('pipe')\n"
    )
    command = SandboxCommand(("python3", "-c", program), files=files, cwd="/w")
    ran = box.run(command)
    assert said(ran).splitlines() == [
        "0o100600 0o100755 a.txt ['a.txt', 'b.txt', 'l', 'old', 'run.sh']",
        f"1000000000 {int(command.start)} b'\\x00\\xff'",
        "b'ran\\n'",
    ]
    changes = dict(ran.changes)
    assert set(changes) == {
        *(
            "/tmp/t",
            "/w/a.txt",
            "/w/b.txt",
            "/w/c.txt",
            "/w/empty",
            "/w/m",
            "/w/new",
            "/w/new/x",
            "/w/new/y",
            "/w/old",
            "/w/run.sh",
        ),
        "/w/\N{REPLACEMENT CHARACTER}",
    }
    assert list(changes) == sorted(changes)
    assert {path for path, entry in changes.items() if entry is None} == {"/w/a.txt", "/w/b.txt"}
    kept = changes["/w/c.txt"]
    assert isinstance(kept, File) and (kept.content, kept.mode) == (b"b", 0o600)
    assert changes["/w/run.sh"] == File(b"#!/bin/sh\necho ran\n", 0o644)
    assert changes["/w/m"] == SymbolicLink("c.txt") and changes["/w/empty"] == Folder()
    assert changes["/w/old"] == File(b"", 0o644, 7.0)
    for path in ("/w/new/x", "/w/new/y"):
        new = changes[path]
        assert isinstance(new, File) and new.content == b"x" and new.modified is not None
        assert command.start <= new.modified < command.start + 60
    list_them = SandboxCommand(
        ("python3", "-c", "import os; print(sorted(os.listdir('.')))"), files=changed(files, changes), cwd="/w"
    )
    again = box.run(list_them)
    assert said(again) == "['c.txt', 'empty', 'l', 'm', 'new', 'old', 'run.sh', '\N{REPLACEMENT CHARACTER}']\n"
    assert not again.changes


def test_a_change_is_seen_even_if_size_and_time_are_restored(box: OpenSandbox) -> None:
    program = "import os; s = os.stat('a'); open('a', 'w').write('y'); os.utime('a', ns=(s.st_atime_ns, s.st_mtime_ns))"
    ran = python(box, "-c", program, files={"a": "x"})
    assert ran.changes == {"/w/a": File(b"y", 0o644, SandboxCommand(()).start)}


def test_what_a_program_closes_is_taken_out_all_the_same(box: OpenSandbox) -> None:
    program = "import os; os.mkdir('d'); open('d/x', 'w').write('x'); os.chmod('d/x', 0); os.chmod('d', 0o100)"
    program += "; os.mkdir('e\\nmode  /w'); os.chmod('e\\nmode  /w', 0)"
    changes = python(box, "-c", program).changes
    found = changes["/w/d/x"]
    assert isinstance(found, File) and (found.content, found.mode) == (b"x", 0)


@pytest.mark.parametrize(
    ("program", "limits", "ended_by"),
    [
        ("while True: pass", SandboxLimits(work=1), "work"),
        ("print('begun', flush=True); import time; time.sleep(700)", SandboxLimits(wall=3), "wall"),
        ("while True: print('x' * 1000)", SandboxLimits(output=10_000), "output"),
        ("n = 0\nwhile True:\n    open(f'{n}', 'w').write('x' * 100_000); n += 1", SandboxLimits(scratch=1 << 20), "scratch"),
        ("import os\nn = 0\nwhile True:\n    open(f'{n}', 'w').close(); n += 1", SandboxLimits(files=2_000), "scratch"),
    ],
)  # fmt: skip
def test_a_limit_ends_a_run_and_is_named(box: OpenSandbox, program: str, limits: SandboxLimits, ended_by: str) -> None:
    ran = python(box, "-c", program, limits=limits)
    assert (ran.ended_by, ran.exit_code, ran.exact) == (ended_by, 137, False)
    assert len(ran.stdout) <= limits.output
    assert ran.stdout == b"begun\n" or ended_by != "wall"


def test_too_much_memory_is_a_memory_error(box: OpenSandbox) -> None:
    ran = python(box, "-c", "x = bytearray(1 << 30)", limits=SandboxLimits(memory=128 << 20))
    assert ran.exit_code == 1 and ran.stderr.decode().splitlines()[-1] == "MemoryError"


def test_nothing_of_a_run_goes_on_or_is_there_in_the_next(box: OpenSandbox) -> None:
    left = (
        "import os, time\n"
        "if os.fork() == 0:\n    os.setsid(); time.sleep(1); open('/w/late', 'w'); time.sleep(1000)\n"
        "open('/tmp/x', 'w')"
    )
    ran = python(box, "-c", left)
    assert ran.seconds < 60 and "/w/late" not in ran.changes
    look = (
        "import os\n"
        "running = [open(f'/proc/{p}/cmdline').read() for p in os.listdir('/proc') if p.isdigit()]\n"
        "print(os.listdir('/tmp'), os.listdir('/w'), [line for line in running if 'os.' + 'setsid' in line])"
    )
    assert said(python(box, "-c", look)) == "[] [] []\n"


def test_runs_at_the_same_time_do_not_meet(box: OpenSandbox) -> None:
    program = "import os, sys, time; open('/tmp/' + sys.argv[1], 'w'); time.sleep(0.5); print(os.listdir('/tmp'), os.listdir('.'))"
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda n: python(box, "-c", program, str(n), files={f"f{n}": ""}), range(4)))
    assert [said(run) for run in runs] == [f"['{n}'] ['f{n}']\n" for n in range(4)]


def test_output_is_without_what_chance_makes_of_it(box: OpenSandbox) -> None:
    program = "import tempfile; print(object(), hash('a'), tempfile.mkdtemp(), 'ran in 0.123s', {'b', 'a', 'c'})"
    one, two, other = (python(box, "-c", program, seed=seed) for seed in (1, 1, 2))
    assert said(one) == said(two) != said(other)


def test_pytest_says_what_failed_and_why(box: OpenSandbox) -> None:
    files = {
        "shop.py": "def total(prices):\n    return sum(prices[1:])\n",
        "tests/test_shop.py": (
            "import pytest\nfrom shop import total\n\n"
            "@pytest.mark.parametrize('n', range(3))\ndef test_equal(n, tmp_path, capfd):\n"
            "    print(n); (tmp_path / 'x').write_text('x')\n"
            "    assert capfd.readouterr().out == f'{n}\\n'\n\n"
            "def test_total():\n    assert total([1, 2]) == 3\n"
        ),
    }
    ran = python(box, "-m", "pytest", "-p", "no:cacheprovider", files=files)
    told = ran.stdout.decode()
    assert ran.exit_code == 1, ran
    assert "E       assert 2 == 3\nE        +  where 2 = total([1, 2])" in told
    assert "1 failed, 3 passed in 0.00s" in told


def test_a_path_that_is_not_plain_is_the_callers_fault(box: OpenSandbox) -> None:
    for path in ("w/x", "/w/../x", "/w//x", "/w/", "//x"):
        with pytest.raises(SimulatorFault):
            box.run(SandboxCommand(("python3", "-c", ""), files={path: File(b"")}))


def test_the_folder_in_which_a_command_begins_is_there(box: OpenSandbox) -> None:
    ran = box.run(SandboxCommand(("sh", "-c", "pwd; touch x"), files=texts({}), cwd="/deep/er/still"))
    assert (said(ran), list(ran.changes)) == ("/deep/er/still\n", ["/deep/er/still/x"])
