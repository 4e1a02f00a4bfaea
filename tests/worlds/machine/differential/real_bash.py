"""The machine's bash, in a throw-away folder."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.worlds.machine.differential.entries import MOMENT, Entry, Tree

ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.test",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.test",
    "GIT_AUTHOR_DATE": "2024-03-05T09:00:00+0000",
    "GIT_COMMITTER_DATE": "2024-03-05T09:00:00+0000",
}
SECONDS = 20


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a line printed, and its exit code."""

    output: bytes
    errors: bytes
    code: int

    def same(self, other: "Outcome") -> bool:
        """Return whether output and exit code are equal."""
        return self.output == other.output and self.code == other.code


def write_tree(tree: Tree, home: Path) -> None:
    """Write the files into a new folder."""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True, mode=0o755)
    # Temporary folders are private, and `ls -la` shows that of the folder above.
    home.parent.chmod(0o755)
    for folder in tree.all_folders():
        (home / folder).mkdir(mode=0o755)
    for path, content in tree.contents().items():
        (home / path).write_bytes(content)
        (home / path).chmod(0o755 if path in tree.executable else 0o644)
    for path, target in tree.links.items():
        (home / path).symlink_to(target)
    # The deepest first, since writing in a folder changes the folder's own time.
    for path in [*sorted(home.rglob("*"), key=lambda path: -len(path.parts)), home, home.parent]:
        os.utime(path, (MOMENT, MOMENT), follow_symlinks=False)


def run(entry: Entry, tree: Tree, home: Path) -> Outcome:
    """Run one entry in a fresh folder."""
    write_tree(tree, home)
    done = subprocess.run(
        ["bash", "-c", entry.text],
        cwd=home,
        env={**ENVIRONMENT, "HOME": str(home), "PWD": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SECONDS,
        umask=0o022,
        check=False,
    )
    return Outcome(done.stdout, done.stderr, done.returncode)
