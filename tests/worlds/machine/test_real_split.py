"""split of a machine against that of coreutils: the same pieces of files of any length."""

import subprocess
from pathlib import Path
from random import Random
from shutil import which

import pytest

from tests.worlds.machine.differential import our_bash
from tests.worlds.machine.differential.entries import Entry, Tree

pytestmark = pytest.mark.skipif(which("split") is None, reason="compares with split of coreutils")


def drawn(random: Random) -> str:
    """Return lines of any length, of which the last may have no end."""
    lines = ["x" * random.randint(0, 9) for _ in range(random.randint(0, 12))]
    return "\n".join(lines) + "\n" * random.randint(0, 1)


def test_pieces_are_those_of_the_real_split(tmp_path: Path) -> None:
    random = Random(5)
    for case in range(60):
        number = random.randint(1, 9)
        way = random.choice(["-n ", "-n l/", "-n r/", "-C ", "-b ", "-l "]) + str(number)
        if way.startswith("-n") and random.random() < 0.3:
            way = way.removesuffix(str(number)) + f"{random.randint(1, number)}/{number}"
        way += random.choice(["", " -e", " -d", " -x", " -t x"])
        text, home = drawn(random), tmp_path / str(case)
        line = f"split {way} f; for each in x*; do echo; echo $each; cat $each; done"
        home.mkdir()
        (home / "f").write_text(text)
        real = subprocess.run(["bash", "-c", line], cwd=home, capture_output=True, text=True, check=False).stdout
        tree = Tree(folders=(), links={}, executable=frozenset(), binary={}, files={"f": text})
        assert our_bash.run(Entry("split", line), tree, home).output.decode() == real, (way, text)
