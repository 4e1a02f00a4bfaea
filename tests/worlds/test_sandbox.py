"""Python in the sandbox behaves as CPython at a shell does: output, errors, exit codes, files; and by seed and virtual clock alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sandboxes import opened, python, said, texts

from simtrain.contracts.sandbox import OpenSandbox
from simtrain.contracts.sandbox_runs import Entry, File, Folder, SandboxCommand, SandboxLimits, SymbolicLink, changed
from simtrain.values.errors import SimulatorFault

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def box() -> Iterator[OpenSandbox]:
    with opened("wasm") as running:
        yield running


def test_a_command_a_script_a_module_and_standard_input_are_run(box: OpenSandbox) -> None:
    files = {
        "tool.py": "import sys; print(__name__, sys.argv)",
        "pack/__init__.py": "",
        "pack/__main__.py": "print(__package__)",
    }
    assert said(python(box, "-c", "import sys; print(sys.argv)", "a", "-b")) == "['-c', 'a', '-b']\n"
    assert said(python(box, "tool.py", "--x", files=files)) == "__main__ ['tool.py', '--x']\n"
    assert said(python(box, "-m", "tool", "1", files=files)) == "__main__ ['/w/tool.py', '1']\n"
    assert said(python(box, "-m", "pack", files=files)) == "pack\n"
    assert said(python(box, stdin="print(2 + 2)\n")) == "4\n"
    assert said(python(box, "-", "x", stdin="import sys; print(sys.argv)\n")) == "['-', 'x']\n"
    assert said(python(box, "-c", "print(input('name? '))", stdin="Ann\n")) == "name? Ann\n"


def test_encodings_other_than_utf_8_can_be_used(box: OpenSandbox) -> None:
    code = "import codecs; print('é'.encode('unicode_escape'), 'é'.encode('cp1252'), codecs.encode(b'a', 'hex'))"
    assert said(python(box, "-c", code)) == "b'\\\\xe9' b'\\xe9' b'61'\n"


def test_errors_read_as_at_a_shell(box: OpenSandbox) -> None:
    files = {"bad.py": "def half(x):\n    return x / 0\n\nhalf(1) + 1\n"}
    failed = python(box, "bad.py", files=files)
    assert failed.exit_code == 1
    assert failed.stderr.decode() == (
        "Traceback (most recent call last):\n"
        '  File "/w/bad.py", line 4, in <module>\n    half(1) + 1\n    ~~~~^^^\n'
        '  File "/w/bad.py", line 2, in half\n    return x / 0\n           ~~^~~\n'
        "ZeroDivisionError: division by zero\n"
    )
    absent = python(box, "absent.py")
    assert (absent.exit_code, absent.stderr.decode()) == (
        2,
        "/usr/bin/python3: can't open file '/w/absent.py': [Errno 2] No such file or directory\n",
    )
    assert python(box, "-m", "absent").stderr.decode() == "/usr/bin/python3: No module named absent\n"
    assert python(box, "-c", "open('x')").stderr.decode().splitlines()[-1] == (
        "FileNotFoundError: [Errno 2] No such file or directory: 'x'"
    )
    assert python(box, "-Z").exit_code == 2


@pytest.mark.parametrize(
    ("program", "code", "stderr"),
    [
        ("import sys; sys.exit(3)", 3, ""),
        ("import sys; sys.exit('bad')", 1, "bad\n"),
        ("import sys; sys.exit()", 0, ""),
        ("raise SystemExit(256 + 7)", 7, ""),
        ("import os; os._exit(9)", 9, ""),
        ("import atexit; atexit.register(print, 'bye'); 1 / 1", 0, ""),
    ],
)
def test_exit_codes_are_those_of_cpython(box: OpenSandbox, program: str, code: int, stderr: str) -> None:
    ran = python(box, "-c", program)
    assert (ran.exit_code, ran.stderr.decode()) == (code, stderr)


def test_files_are_put_in_and_changes_taken_out(box: OpenSandbox) -> None:
    files = {
        "/w/a.txt": File(b"a"),
        "/w/b.txt": File(b"b", 0o600),
        "/w/run.sh": File(b"#!/bin/sh\n", 0o755),
        "/w/l": SymbolicLink("a.txt"),
    }
    program = (
        "import os, stat\n"
        "print(oct(os.stat('b.txt').st_mode), oct(os.stat('run.sh').st_mode), os.readlink('l'), os.listdir('.'))\n"
        "os.remove('a.txt'); os.chmod('run.sh', 0o644); os.mkdir('new'); open('new/x', 'w').write('x')\n"
        "os.rename('b.txt', 'c.txt'); os.symlink('c.txt', 'm'); os.mkdir('empty')\n"
    )
    ran = box.run(SandboxCommand(("python3", "-c", program), files=files, cwd="/w"))
    assert ran.stdout.decode() == "0o100600 0o100755 a.txt ['a.txt', 'b.txt', 'l', 'run.sh']\n", ran
    start = SandboxCommand(()).start
    changes = dict(ran.changes)
    assert {path for path, entry in changes.items() if entry is None} == {"/w/a.txt", "/w/b.txt"}
    assert changes["/w/c.txt"] == File(b"b", 0o600, start)
    assert changes["/w/run.sh"] == File(b"#!/bin/sh\n", 0o644)
    assert changes["/w/m"] == SymbolicLink("c.txt") and changes["/w/empty"] == Folder()
    new = changes["/w/new/x"]
    assert (
        isinstance(new, File) and new.content == b"x" and new.modified is not None and start <= new.modified < start + 1
    )
    again = box.run(
        SandboxCommand(
            ("python3", "-c", "import os; print(sorted(os.listdir('.')))"), files=changed(files, changes), cwd="/w"
        )
    )
    assert again.stdout.decode() == "['c.txt', 'empty', 'l', 'm', 'new', 'run.sh']\n"
    assert not again.changes


def test_what_the_command_may_not_access_is_closed_to_the_program_and_is_no_change(box: OpenSandbox) -> None:
    files: dict[str, Entry] = {
        "/w/secret": File(b"s", 0o600), "/w/fixed": File(b"f"), "/w/box": Folder(0o700), "/w/box/in": File(b"i"), "/w/free": File(b"x"),
    }  # fmt: skip
    program = (
        "import os\n"
        "for act in (lambda: open('secret'), lambda: open('fixed', 'a'), lambda: open('new', 'w'), lambda: os.listdir('box'),\n"
        "            lambda: open('box/in'), lambda: os.remove('free'), lambda: os.rename('free', '/tmp/free')):\n"
        "    try:\n        act(); print('done')\n    except PermissionError as error:\n        print(error.errno)\n"
        "print(open('fixed').read()); open('free', 'w').write('y')\n"
    )
    access = {"/w": 5, "/w/secret": 0, "/w/fixed": 4, "/w/box": 0}
    ran = box.run(SandboxCommand(("python3", "-c", program), files=files, cwd="/w", access=access))
    told = said(ran).splitlines()
    assert "done" not in told and told[-1] == "f" and len(told) == 8
    assert set(ran.changes) == {"/w/free"}


def test_a_change_is_seen_even_if_size_and_time_are_restored(box: OpenSandbox) -> None:
    program = "import os; s = os.stat('a'); open('a', 'w').write('y'); os.utime('a', ns=(s.st_atime_ns, s.st_mtime_ns))"
    ran = python(box, "-c", program, files={"a": "x"})
    assert ran.changes == {"/w/a": File(b"y", 0o644, SandboxCommand(()).start)}


def test_time_and_chance_come_from_the_command_alone(box: OpenSandbox) -> None:
    program = (
        "import datetime, os, random, secrets, time, uuid\n"
        "print(datetime.datetime.now(), random.random(), os.urandom(4), uuid.uuid4(), secrets.token_hex(4))\n"
        "t = time.monotonic(); time.sleep(90); print(round(time.monotonic() - t), datetime.datetime.now())\n"
        "print(hash('a'), object(), {'b', 'a', 'c'})\n"
    )
    one, two, other = (python(box, "-c", program, seed=seed) for seed in (1, 1, 2))
    assert one == two
    first, slept, _ = one.stdout.decode().splitlines()
    assert first.startswith("2030-01-01 00:00:00.") and slept.startswith("90 2030-01-01 00:01:30")
    assert one.stdout != other.stdout
    assert 90 <= one.seconds < 91


def test_a_module_beside_the_program_hides_one_of_the_library(box: OpenSandbox) -> None:
    files = {
        "random.py": "def random(): return 'mine'\nclass Random: pass\n",
        "sub/queue.py": "mine = 1\n",
        "use.py": "import random; print(random.random())\nimport sys; sys.path.insert(0, 'sub'); import queue; print(queue.mine)\n",
    }
    assert said(python(box, "use.py", files=files)) == "mine\n1\n"
    # As in CPython, a module of the library that needs the hidden one meets the program's.
    broken = python(box, "-c", "import tempfile; print(tempfile.mkdtemp())", files={"random.py": ""})
    assert broken.exit_code == 1 and b"cannot import name 'Random' from 'random'" in broken.stderr


def test_modules_are_loaded_only_when_they_are_imported(box: OpenSandbox) -> None:
    program = "import sys; print([n for n in ('json', 're', 'pytest', 'app', 'shelf') if n in sys.modules]); import xml; xml.dom"
    ran = python(box, "-c", program)
    assert ran.stdout == b"[]\n"
    assert ran.stderr.decode().splitlines()[-1].startswith("AttributeError: module 'xml' has no attribute 'dom'")


def test_what_a_platform_without_processes_lacks_fails_in_its_words(box: OpenSandbox) -> None:
    def last(program: str) -> str:
        return python(box, "-c", program).stderr.decode().splitlines()[-1]

    assert last("import threading; threading.Thread(target=print).start()") == "RuntimeError: can't start new thread"
    assert "does not support processes" in last("import subprocess; subprocess.run(['ls'])")
    assert last("import os; os.fork()").startswith("AttributeError: module 'os' has no attribute 'fork'")
    assert last("import ctypes") == "ModuleNotFoundError: No module named '_ctypes'"


def test_asyncio_waits_in_virtual_time(box: OpenSandbox) -> None:
    program = (
        "import asyncio, time\n"
        "async def one(n):\n    await asyncio.sleep(n); return n\n"
        "async def main():\n    t = time.monotonic(); print(await asyncio.gather(one(30), one(60))); print(round(time.monotonic() - t))\n"
        "asyncio.run(main())\n"
    )
    assert said(python(box, "-c", program)) == "[30, 60]\n60\n"


@pytest.mark.parametrize(
    ("program", "limits", "ended_by"),
    [
        ("while True: pass", SandboxLimits(work=0.2), "work"),
        ("import time; time.sleep(700)", SandboxLimits(), "seconds"),
        ("while True: print('x' * 1000)", SandboxLimits(output=10_000), "output"),
        ("import select; select.select([], [], [], 100)", SandboxLimits(wall=0.3), "wall"),
        (
            "n = 0\nwhile True:\n    open(f'{n}', 'w').write('x' * 100_000); n += 1",
            SandboxLimits(scratch=1 << 20),
            "scratch",
        ),
    ],
)
def test_a_limit_ends_a_run_and_is_named(box: OpenSandbox, program: str, limits: SandboxLimits, ended_by: str) -> None:
    ran = python(box, "-c", program, limits=limits)
    assert (ran.ended_by, ran.exit_code != 0) == (ended_by, True)
    assert len(ran.stdout) <= limits.output


def test_too_much_memory_is_a_memory_error(box: OpenSandbox) -> None:
    ran = python(box, "-c", "x = bytearray(1 << 30)", limits=SandboxLimits(memory=128 << 20))
    assert ran.exit_code == 1 and ran.stderr.decode().splitlines()[-1] == "MemoryError"


def test_pytest_says_what_failed_and_why(box: OpenSandbox) -> None:
    files = {
        "shop.py": "def total(prices):\n    return sum(prices[1:])\n",
        "tests/test_shop.py": (
            "import pytest\nfrom shop import total\n\n"
            "@pytest.mark.parametrize('n', range(3))\ndef test_equal(n, tmp_path, capsys):\n"
            "    print(n); (tmp_path / 'x').write_text('x')\n"
            "    assert capsys.readouterr().out == f'{n}\\n'\n\n"
            "def test_total():\n    assert total([1, 2]) == 3\n"
        ),
    }
    ran = python(box, "-m", "pytest", files=files)
    told = ran.stdout.decode()
    assert ran.exit_code == 1, told
    assert "platform wasi -- Python 3.14.0, pytest-9" in told and "rootdir: /w" in told
    assert "E       assert 2 == 3\nE        +  where 2 = total([1, 2])" in told
    assert "1 failed, 3 passed in 0." in told
    assert "/w/.pytest_cache/v/cache/lastfailed" in ran.changes
    assert python(box, "-m", "pytest", files=files) == ran
    # The script of that name does not put the working folder on sys.path.
    script = box.run(SandboxCommand(("pytest", "-q"), files=texts(files), cwd="/w", env={"HOME": "/tmp"}))
    assert b"ModuleNotFoundError: No module named 'shop'" in script.stdout and script.exit_code == 2


def test_a_path_that_is_not_plain_is_the_callers_fault(box: OpenSandbox) -> None:
    for path in ("w/x", "/w/../x", "/w//x", "/w/", "//x"):
        with pytest.raises(SimulatorFault):
            box.run(SandboxCommand(("python3", "-c", ""), files={path: File(b"")}))
