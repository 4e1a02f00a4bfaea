"""The folder in which a run's files lie may have served another run: a program cannot tell, and nothing of that run is left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sandboxes import opened, said

from simtrain.contracts.sandbox import OpenSandbox
from simtrain.contracts.sandbox_runs import (
    Entry,
    File,
    Folder,
    SandboxCommand,
    SandboxLimits,
    SandboxOutcome,
    SymbolicLink,
)
from simtrain.worlds.sandbox.scratch import Scratch, remove

START = SandboxCommand(()).start
FILES: dict[str, Entry] = {
    "/w/one.txt": File(b"one", modified=START - 900),
    "/w/two.txt": File(b"two", modified=START - 900),
    "/w/pack/a/same": File(b"a1", modified=START - 900),
    "/w/pack/b/same": File(b"b2", modified=START - 900),
    "/w/new": File(b"of the start"),
    "/w/empty": Folder(),
    "/w/link": SymbolicLink("one.txt"),
}
EVERYTHING = """
import os
for folder, folders, files in os.walk("/"):
    folders[:] = sorted(name for name in folders if os.path.join(folder, name) not in ("/usr/lib", "/usr/share"))
    for path in [folder] + [os.path.join(folder, name) for name in sorted(files)]:
        s = os.lstat(path)
        content = os.readlink(path) if os.path.islink(path) else open(path, "rb").read() if os.path.isfile(path) else ""
        print(path, content, s.st_mode, s.st_nlink, s.st_atime, s.st_mtime, s.st_ctime, s.st_ino)
print(os.listdir("/"), os.listdir("/usr"))
"""
DIRT = {
    "renamed": "os.rename('pack/a', 'pack/c'); os.rename('pack/b', 'pack/a'); os.rename('pack/c', 'pack/b')",
    "linked twice": "os.link('one.txt', 'hard'); open('hard', 'a').write('x')",
    "a folder becomes a link": "os.rename('pack', 'moved'); os.symlink('moved', 'pack')",
    "a file becomes a folder": "os.remove('one.txt'); os.makedirs('one.txt/in'); open('one.txt/in/x', 'w').write('x')",
    "times": "os.utime('one.txt', (1, 1)); os.utime('pack', (2, 2))",
    "content, size and time alike": "s = os.stat('new'); open('new', 'w').write('at the start'); os.utime('new', (s.st_atime, s.st_mtime))",
    "modes": "os.chmod('one.txt', 0o600); os.chmod('pack', 0o700); os.mkdir('shut', 0o000)",
    "read": "[open(p).read() for p in ('one.txt', 'two.txt', 'new')]",
    "elsewhere": "open('/dev/mine', 'w').write('x'); os.makedirs('/usr/lib/mine'); open('/tmp/t', 'w').write('x'); open('/top', 'w')",
    "removed": "import shutil; shutil.rmtree('pack'); os.remove('link'); os.rmdir('empty')",
    "deep": "here = os.getcwd()\nfor n in range(150):\n    os.mkdir('d' * 20); os.chdir('d' * 20)\nopen('x', 'w').write('x')",
}


@pytest.fixture(scope="module")
def box() -> Iterator[OpenSandbox]:
    with opened("wasm") as running:
        yield running


@pytest.fixture(scope="module")
def untouched() -> SandboxOutcome:
    with opened("wasm") as running:
        return running.run(_command(EVERYTHING))


def _command(program: str, *, wall: float = 60) -> SandboxCommand:
    return SandboxCommand(
        ("python3", "-c", program), files=FILES, cwd="/w", env={"HOME": "/root"}, limits=SandboxLimits(wall=wall)
    )


@pytest.mark.slow
@pytest.mark.parametrize("what", DIRT)
def test_a_run_finds_nothing_of_the_run_before(box: OpenSandbox, untouched: SandboxOutcome, what: str) -> None:
    first = box.run(_command(f"import os\n{DIRT[what]}\nprint('done')"))
    assert said(first) == "done\n"
    assert box.run(_command(EVERYTHING)) == untouched


@pytest.mark.slow
def test_a_run_finds_nothing_of_one_that_was_cut_off(box: OpenSandbox, untouched: SandboxOutcome) -> None:
    writing = "import select\nopen('mine', 'w').write('x')\nselect.select([], [], [], 100)"
    assert box.run(_command(writing, wall=0.3)).ended_by == "wall"
    assert box.run(_command(EVERYTHING)) == untouched


@pytest.mark.slow
def test_no_time_of_the_host_is_shown(untouched: SandboxOutcome) -> None:
    lines = [line.split() for line in said(untouched).splitlines()[:-1]]
    assert len(lines) > 10
    times = {float(moment) for line in lines for moment in line[-4:-1]}
    assert times == {START, START - 900}


def test_files_that_change_places_are_changes_though_their_times_and_sizes_are_alike(tmp_path: Path) -> None:
    files: dict[str, Entry] = {
        "/a/same": File(b"a", modified=START),
        "/b/same": File(b"b", modified=START),
    }
    scratch = Scratch(str(tmp_path / "files"), files, start=START)
    for old, new in (("a", "c"), ("b", "a"), ("c", "b")):
        (tmp_path / "files" / old).rename(tmp_path / "files" / new)
    assert scratch.changes({}, now=START + 1) == {
        "/a/same": File(b"b", modified=START),
        "/b/same": File(b"a", modified=START),
    }


def test_a_folder_is_filled_anew_with_what_differs_alone(tmp_path: Path) -> None:
    root = tmp_path / "files"
    scratch = Scratch(str(root), FILES, start=START)
    before = {path: (root / path[1:]).stat().st_ino for path, entry in FILES.items() if isinstance(entry, File)}
    (root / "w/two.txt").write_bytes(b"2")
    (root / "w/pack/a/made").write_bytes(b"")
    assert set(scratch.changes({}, now=START)) == {"/w/two.txt", "/w/pack/a/made"}
    scratch.fill(FILES, start=START + 60)
    assert not scratch.changes({}, now=START)
    after = {path: (root / path[1:]).stat().st_ino for path in before}
    assert {path for path in before if after[path] != before[path]} <= {"/w/two.txt", "/w/new"}
    assert (root / "w/new").stat().st_mtime == START + 60 and not (root / "w/pack/a/made").exists()


def test_a_folder_is_removed_however_deep_and_closed_it_is(tmp_path: Path) -> None:
    root = tmp_path / "files"
    root.mkdir()
    here = root
    for _ in range(100):
        here = here / ("d" * 20)
        here.mkdir()
    (here / "x").write_bytes(b"")
    for n in range(40):
        (root / f"more{n}").mkdir()
        (root / f"more{n}" / "x").symlink_to("/etc/passwd")
    here.chmod(0)
    remove(str(root))
    assert not root.exists()
