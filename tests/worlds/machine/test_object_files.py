import subprocess
import zlib
from hashlib import sha1
from pathlib import Path
from shutil import which

import pytest

from simtrain.worlds.handlers.git.objects import Kind
from simtrain.worlds.machine.git.object_file import object_file, read_object
from tests.worlds.machine.differential.entries import tree
from tests.worlds.machine.differential.our_bash import opened
from tests.worlds.machine.differential.real_bash import ENVIRONMENT

SIZES = [0, 1, 300, 65_520, 65_528, 65_529, 65_535, 65_536, 131_070, 200_000]
"""Around those at which what is stored needs another block."""


def content(size: int) -> bytes:
    return sha1(b"%d" % size).digest() * (size // 20) + b"x" * (size % 20)


@pytest.mark.parametrize("size", SIZES)
def test_zlib_reads_what_is_written(size: int) -> None:
    assert zlib.decompress(object_file("blob", content(size))) == b"blob %d\0" % size + content(size)


@pytest.mark.parametrize("level", range(10))
@pytest.mark.parametrize("kind", ["commit", "tree", "blob", "tag"])
def test_what_zlib_writes_is_read(kind: Kind, level: int) -> None:
    for size in SIZES:
        plain = f"{kind} {size}\0".encode() + content(size)
        assert read_object(zlib.compress(plain, level)) == (kind, content(size))


@pytest.mark.parametrize("place", [0, 1, 2, 3, 5, 8, 20, -1])
def test_a_damaged_file_is_refused(place: int) -> None:
    file = bytearray(object_file("blob", b"some content"))
    file[place] ^= 0x55
    with pytest.raises((zlib.error, LookupError)):
        read_object(bytes(file))


@pytest.mark.parametrize("length", [0, 1, 5, 7, 11, 20])
def test_a_file_that_is_cut_off_is_refused(length: int) -> None:
    with pytest.raises((zlib.error, LookupError)):
        read_object(object_file("blob", b"some content")[:length])


@pytest.mark.skipif(which("git") is None, reason="needs git")
def test_git_finds_no_fault_in_a_repository_of_a_machine(tmp_path: Path) -> None:
    home = tmp_path / "home"
    machine, shell = opened(tree(), home)
    done = shell.run(
        ". ./repo.sh; seq 100000 > large; git add large; git commit -qm Large; git merge -q feature; git tag -am noted v2"
    )
    assert (done.stderr, done.exit_code) == ("", 0)
    for path in machine.tree.below(f"{home}/proj"):
        node = machine.tree.get(path)
        assert node is not None
        if node.kind == "directory":
            Path(path).mkdir(parents=True)
        else:
            Path(path).write_bytes(node.content)

    def git(*words: str) -> str:
        environment = {**ENVIRONMENT, "HOME": str(home)}
        return subprocess.run(
            ["git", *words], cwd=home / "proj", env=environment, check=True, capture_output=True, text=True
        ).stdout

    git("fsck", "--strict", "--full")
    assert git("status", "--porcelain") == ""
    assert git("log", "--format=%s").splitlines()[-2:] == ["Add four", "First commit"]
    assert git("cat-file", "-s", "HEAD:large") == "588895\n"
    assert git("describe") == "v2\n"
