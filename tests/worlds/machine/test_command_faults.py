"""Whatever an agent types, our commands answer: an error of Python in one would end the episode as a fault of the simulator."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import sqlite3
import tarfile
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from random import Random
from shlex import quote

import pytest

from simtrain.worlds.machine.commands import COMMANDS, commands
from tests.support.machines import machine_of, shell_on

HOME = "/home/ann"
PLAIN = {
    "a.txt": b"one\ntwo\n",
    "b.bin": bytes(range(256)),
    "d/c.py": b"print(1)\n",
    "p.diff": b"--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n",
}
WORDS = [
    *(
        "",
        " ",
        "-",
        "--",
        "*",
        "**",
        "[",
        "[a-",
        "{",
        "(",
        ";",
        ":",
        "%",
        "\\",
        "\n",
        ".",
        "..",
        "/",
        "~",
        "é",
        "\u202e",
        "\U0001f600",
    ),
    *(
        "-1",
        "-0",
        "0",
        "1",
        "22",
        "999",
        "99999999999999999999",
        "1e400",
        "nan",
        "-inf",
        "0x10",
        "1k",
        "1-3",
        "%1",
        "@x",
        "-d@9e99",
    ),
    *(
        "a.txt",
        "b.bin",
        "d",
        "x.tar",
        "y.tgz",
        "n.db",
        "p.diff",
        "z.zip",
        "g.gz",
        "q.tar",
        "/etc/passwd",
        "/nope",
        "a:b",
        "ann:",
    ),
    *(
        "http://localhost/",
        "http://web1/",
        "http://a:99999/",
        "localhost",
        "ann@web1",
        "u+x",
        "u=",
        "+x",
        "+%s",
        "+%",
        "-5d",
    ),
    *(
        "--help",
        "--version",
        "--bad=1",
        "-x",
        "-n",
        "-f",
        "-r",
        "-l",
        "-a",
        "-d",
        "-e",
        "-c",
        "-p",
        "-i",
        "-u",
        "-t",
        "-k",
        "-s",
        "-o",
    ),
    *(
        "-C",
        "-R",
        "-S",
        "-L",
        "-v",
        "-q",
        "-y",
        "-xzf",
        "-cf",
        "-tf",
        "-exec",
        "-mtime",
        "-newer",
        "-size",
        "-perm",
        "-type",
        "-name",
    ),
    *(
        "and",
        "install",
        "list",
        "start",
        "status",
        "select",
        "now",
        "yesterday",
        "2031-99-99",
        "KILL",
        "--since",
        "--date",
        "--count",
    ),
    *(
        "log",
        "commit",
        "-m",
        "HEAD~999",
        "rebase",
        "HEAD^{}",
        ":/x",
        "show",
        "stash",
        "bisect",
        "-maxdepth",
        "--sort",
        "-9",
    ),
]
VALUES = ["", "x", "0", "-1", "1e400", "99999999999999999999", "nan", "a:b", "1-", "%", "é", "/nope", "a.txt", "d"]
OFTEN = [
    "git",
    "find",
    "date",
    "tar",
    "systemctl",
    "sqlite3",
    "ps",
    "curl",
    "diff",
    "ls",
    "stat",
    "tail",
    "head",
    "sort",
]
ON_DAMAGED = [
    *(
        "git status",
        "git log",
        "git diff HEAD",
        "git reflog",
        "git show",
        "git stash",
        "git commit -qam x",
        "git branch t",
    ),
    "f=$(find .git -type f | shuf -n 1); chmod u+w $f; printf x | dd of=$f bs=1 seek=$((RANDOM % 40)) conv=notrunc 2> /dev/null",
    *("unzip z.zip", "unzip -l z.zip", "unzip -p z.zip", "zip z.zip a.txt", "file z.zip x.tar", "pip install ./z.zip"),
    *("tar tf x.tar", "tar xvf x.tar", "tar rf x.tar a.txt", "tar xzf y.tgz", "tar tzvf y.tgz", "dpkg -i z.zip"),
    *("gunzip g.gz", "zcat g.gz", "zgrep h g.gz", "bzcat h.bz2", "xzcat h.xz", "xz -d h.xz"),
    *("patch < p.diff", "patch -R a.txt p.diff", "git apply p.diff", "git apply --check p.diff"),
    *(
        "sqlite3 n.db 'select * from t'",
        "sqlite3 n.db .tables",
        "sqlite3 n.db .dump",
        "sqlite3 n.db 'insert into t values (2)'",
    ),
]


def options_of(name: str) -> list[str]:
    """The options that the file of a command of ours speaks of."""
    module = COMMANDS.get(name, "").partition(":")[0]
    spec = find_spec(module) if module else None
    text = Path(spec.origin).read_text() if spec and spec.origin else ""
    found: list[tuple[str, str]] = re.findall(r'\.(?:value|values|has|number)\("([\w-]+)"|"-{1,2}([\w-]+)"', text)
    return sorted({one or other for one, other in found})


def packed() -> dict[str, bytes]:
    """Files in forms that commands unpack."""
    zipped, tarred = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("in/a", "hello " * 40)
    with tarfile.open(fileobj=tarred, mode="w") as archive:
        member = tarfile.TarInfo("in/b")
        member.size = 200
        archive.addfile(member, io.BytesIO(b"x" * 200))
    database = sqlite3.connect(":memory:")
    database.executescript("create table t (a); insert into t values (1);")
    many = b"hi there\n" * 20
    return {
        "z.zip": zipped.getvalue(), "x.tar": tarred.getvalue(), "y.tgz": gzip.compress(tarred.getvalue(), mtime=0),
        "n.db": database.serialize(), "g.gz": gzip.compress(many, mtime=0), "h.bz2": bz2.compress(many), "h.xz": lzma.compress(many),
        "p.diff": PLAIN["p.diff"],
    }  # fmt: skip


def damaged(content: bytes, chance: Random) -> bytes:
    """The same content with some bytes changed, and perhaps its end cut off."""
    found = bytearray(content)
    for _ in range(chance.randint(1, 4)):
        found[chance.randrange(len(found))] = chance.randrange(256)
    return bytes(found[: chance.randint(len(found) // 2, len(found))] if chance.random() < 0.3 else found)


def lines(chance: Random, count: int) -> Iterator[str]:
    """Command lines that nobody would write, and some that anybody would, over damaged files."""
    names = sorted(commands(python=False))
    for _ in range(count):
        if chance.random() < 0.35:
            yield chance.choice(ON_DAMAGED)
            continue
        name = chance.choice(names if chance.random() < 0.75 else OFTEN)
        words = [chance.choice(WORDS) for _ in range(chance.randint(0, 5))]
        for option in (
            chance.sample(known, min(len(known), chance.randint(0, 2))) if (known := options_of(name)) else ()
        ):
            value = chance.choice(VALUES)
            words[:0] = [f"--{option}={value}"] if len(option) > 1 and chance.random() < 0.7 else [f"-{option}", value]
        line = " ".join([name, *map(quote, words)])
        around = chance.random()
        yield f"echo 'a b c' | {line}" if around < 0.2 else f"{line} < b.bin" if around < 0.3 else line


def play(seed: int, count: int) -> None:
    """Run so many lines; a fault of a command is raised."""
    chance, packs = Random(seed), packed()
    shell = None
    for number, line in enumerate(lines(chance, count)):
        if shell is None or number % 40 == 0:
            broken = {name: damaged(content, chance) for name, content in packs.items()}
            shell = shell_on(machine_of({f"{HOME}/{name}": content for name, content in {**PLAIN, **broken}.items()}))
            shell.run("git init -q . ; git add a.txt; git -c user.name=a -c user.email=b commit -qm x")
        try:
            shell.run(line)
        except Exception as error:
            error.add_note(f"seed {seed}: {line!r}")
            raise


def test_no_command_fails_by_an_error_of_its_own() -> None:
    play(0, 200)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(1, 5))
def test_no_command_fails_by_an_error_of_its_own_in_many_lines(seed: int) -> None:
    play(seed, 1_500)
