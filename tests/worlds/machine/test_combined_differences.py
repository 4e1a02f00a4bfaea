"""Differences of merges, against those that git itself prints of the same files."""

import os
import subprocess
from pathlib import Path
from random import Random
from shutil import which

import pytest

from simtrain.worlds.handlers.git.deltas import Side
from simtrain.worlds.handlers.git.objects import TreeEntry, blob_id
from simtrain.worlds.machine.git.combined import combined

pytestmark = pytest.mark.skipif(which("git") is None, reason="needs git")
WHEN = "2024-01-01T00:00:00Z"
PERSON = {
    "GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.test", "GIT_AUTHOR_DATE": WHEN,
    "GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.test", "GIT_COMMITTER_DATE": WHEN,
}  # fmt: skip


class Git:
    """A repository in which commits with one file are made."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.run("init", "-q")

    def run(self, *words: str, stdin: bytes = b"") -> str:
        environment = {**os.environ, **PERSON}
        done = subprocess.run(
            ["git", *words], cwd=self._folder, env=environment, input=stdin, capture_output=True, check=True
        )
        return done.stdout.decode()

    def commit(self, content: bytes, *parents: str) -> str:
        blob = self.run("hash-object", "-w", "--stdin", stdin=content).strip()
        tree = self.run("mktree", stdin=f"100644 blob {blob}\tf\n".encode()).strip()
        named = [word for parent in parents for word in ("-p", parent)]
        return self.run("commit-tree", tree, *named, "-m", "x").strip()


def changed(lines: list[str], random: Random) -> list[str]:
    """Return lines of which some are replaced, added or left out."""
    found = list(lines)
    for _ in range(random.randint(0, 4)):
        place, kind = random.randrange(len(found) + 1), random.random()
        if kind < 0.4 and place < len(found):
            found[place] = random.choice(["alpha", "beta", " gamma", "delta"]) + str(random.randint(0, 5))
        elif kind < 0.7:
            found.insert(place, random.choice(["new", "neu"]) + str(random.randint(0, 3)))
        elif place < len(found):
            del found[place]
    return found


def encoded(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def side(content: bytes) -> Side:
    return Side("f", TreeEntry("100644", blob_id(content)), content)


@pytest.mark.parametrize("dense", [True, False])
def test_merges_are_shown_as_git_shows_them(tmp_path: Path, dense: bool) -> None:
    git, shown = Git(tmp_path), 0
    for seed in range(40):
        random = Random(seed)
        base = [
            random.choice(["def f():", " a", " b", " c", "x = 1"]) + str(place)
            for place in range(random.randint(0, 30))
        ]
        one, other = changed(base, random), changed(base, random)
        result = changed(random.choice([one, other, base, one]), random)
        left, right, after = encoded(one), encoded(other), encoded(result)
        first = git.commit(left)
        merge = git.commit(after, first, git.commit(right, first))
        told = git.run("show", "--format=", "--cc" if dense else "-c", merge)
        if after in (left, right):
            assert told == ""
            continue
        assert combined("f", [side(left), side(right)], side(after), lambda sha: sha[:7], dense=dense) == told, seed
        shown += bool(told)
    assert shown > 15
