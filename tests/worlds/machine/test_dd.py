"""dd, head of many lines and yes: against those of coreutils, and where a disk ends."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from random import Random
from shutil import which

import pytest

from simtrain.worlds.machine.commands.instead import with_ours
from tests.support.machines import bash, state_of
from tests.worlds.machine.differential import our_bash
from tests.worlds.machine.differential.entries import Entry, Tree

COREUTILS = pytest.mark.skipif(which("dd") is None, reason="compares with dd of coreutils")
DESK = """
kind: machine
name: desk
hostname: desk
user: kim
users: {kim: {}}
disk: {size: 30M}
"""
SPEED = re.compile(r"(?<=copied, ).*")


def drawn(random: Random) -> str:
    """Return the operands of one copy of `f` to `g`."""
    words = ["if=f", "of=g"]
    for name in ("bs", "ibs", "obs", "count", "skip", "seek"):
        if random.random() < 0.35:
            words.append(f"{name}={random.choice(['', '2x'])}{random.randint(1, 9)}")
    if random.random() < 0.5:
        words.append("conv=" + ",".join(random.sample(["notrunc", "ucase", "swab", "sync"], random.randint(1, 3))))
    if random.random() < 0.3:
        words.append(
            random.choice(["iflag=skip_bytes,count_bytes", "oflag=seek_bytes", "status=none", "status=noxfer"])
        )
    random.shuffle(words)
    return " ".join(words)


def alike(line: str, files: dict[str, str], home: Path) -> tuple[str, str]:
    """Return what a line prints in bash, on both streams, and in a machine."""
    home.mkdir()
    for name, text in files.items():
        (home / name).write_text(text)
    real = subprocess.run(
        ["bash", "-c", line], cwd=home, capture_output=True, text=True, check=False, env={"LC_ALL": "C"}
    )
    tree = Tree(folders=(), links={}, executable=frozenset(), binary={}, files=files)
    ours = our_bash.run(Entry("dd", line), tree, home)
    return SPEED.sub("", real.stdout + real.stderr), SPEED.sub("", ours.output.decode() + ours.errors.decode())


@COREUTILS
def test_copies_are_those_of_the_real_dd(tmp_path: Path) -> None:
    random = Random(7)
    for case in range(80):
        files = {name: "".join(random.choices("abcdef", k=random.randint(0, 40))) for name in "fg"}
        line = f"dd {drawn(random)}; od -c g"
        real, ours = alike(line, files, tmp_path / str(case))
        assert ours == real, (line, files)


@COREUTILS
@pytest.mark.parametrize(
    "line",
    ["dd if=none of=g", "dd if=f of=none/g", "dd if=f of=g bs=0", "dd if=f of=g bs=1m", "dd if=f of=g foo", "dd if=f of=g conv=x",
     "dd if=f of=g conv=lcase,ucase", "dd if=f of=g iflag=x", "dd if=f of=g status=x", "dd if=f of=g count=-1", "dd of=g conv=excl",
     "dd if=f of=h conv=nocreat", "dd if=f of=g skip=99", "dd if=. of=h", "dd if=f of=.", "echo hello | dd of=h 2>/dev/null; cat h",
     "seq 20000 | head -n 15000 | tail -n 1", "seq 20000 | head -n -10000 | tail -n 1", "seq 9 | head -12345", "head -n 10000 f none g",
     "printf a | head -n 10000; head -n 10K f; head -q -n 10000 f g", "yes | head -n 20000 | wc -c", "yes a b | head -n 2"],
)  # fmt: skip
def test_other_calls_are_answered_as_by_coreutils(line: str, tmp_path: Path) -> None:
    real, ours = alike(line, {"f": "one\ntwo\n", "g": "old"}, tmp_path / "home")
    assert ours == real


def test_a_copy_ends_where_the_disk_or_the_largest_file_does() -> None:
    state = state_of(DESK)
    told = bash(state, "dd if=/dev/zero of=big bs=1M count=100; stat -c %s big")
    assert told == (
        "dd: error writing 'big': File too large\n3+0 records in\n2+0 records out\n"
        "3000000 bytes (3.0 MB, 2.9 MiB) copied, 0.0061 s, 492 MB/s\n3000000"
    )
    assert "No space left on device" in bash(
        state, "for i in $(seq 9999); do dd if=/dev/zero of=z$i bs=1M count=2 || break; done"
    )
    assert bash(state, "df --output=avail / | tail -n 1").strip() in ("0", "1")


def test_devices_are_read_and_written_without_an_end() -> None:
    state = state_of(DESK)
    told = bash(state, "dd if=/dev/zero of=/dev/null bs=1M count=5000")
    assert told.endswith("5242880000 bytes (5.2 GB, 4.9 GiB) copied, 10.4859 s, 500 MB/s")
    assert bash(state, "dd if=/dev/zero of=/dev/null").startswith("[stopped after 120 s]")
    assert bash(state, "dd if=/dev/urandom of=r bs=1000 count=99 status=none; wc -c < r") == "99000"
    assert "No space left on device" in bash(state, "dd if=/dev/zero of=/dev/full count=1")
    assert bash(state, "yes > y").startswith("bash: line 1: y: File too large")


def test_what_is_quoted_and_what_the_engine_does_as_well_is_left_alone() -> None:
    for script in (
        "echo 'dd of=x'",
        'echo "dd of=x"; head -n 5 f',
        "# dd of=x",
        "add of=x",
        "cat <<E\ndd of=x\nE",
        "dd if=x bs=4",
    ):
        assert with_ours(script) == script
    assert with_ours("a | dd bs=1 of=x && head -20000 y") == "a | _dd bs=1 of=x && _head -20000 y"
