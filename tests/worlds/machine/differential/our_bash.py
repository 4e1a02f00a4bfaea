"""The bash of a machine world, over the same files in the same folder."""

import os
import pwd
from grp import getgrgid
from pathlib import Path, PurePosixPath

from simtrain.values.clock import Clock, instant
from simtrain.worlds.machine.accounts import User
from simtrain.worlds.machine.bashkit_shell import BashkitShell
from simtrain.worlds.machine.file_tree import BaseTree, FileTree
from simtrain.worlds.machine.machine import Machine
from simtrain.worlds.machine.nodes import TreeNode
from simtrain.worlds.machine.programs import programs
from tests.support.machines import TableRecords
from tests.worlds.machine.differential.entries import MOMENT, Entry, Tree
from tests.worlds.machine.differential.real_bash import ENVIRONMENT, Outcome

NOW = "2026-11-26T08:00:00Z"


def nodes(tree: Tree, home: Path, owner: str, group: str) -> dict[str, TreeNode]:
    """Return the files as nodes by absolute path."""

    def directory() -> TreeNode:
        return TreeNode("directory", 0o755, owner, group, MOMENT)

    found = {str(above): directory() for above in [*reversed(home.parents), home]}
    found |= {place: directory() for place in ("/dev", "/etc", "/tmp", "/usr", "/usr/bin", "/root", "/home")}
    found["/usr/sbin"] = directory()
    for path, content in programs(python=False):
        found[path] = TreeNode("file", 0o755, "root", "root", MOMENT, content)
    found["/bin"] = TreeNode("link", 0o777, "root", "root", MOMENT, target="usr/bin")
    found["/dev/null"] = TreeNode("device", 0o666, "root", "root", MOMENT)
    found |= {f"{home}/{folder}": directory() for folder in tree.all_folders()}
    for path, content in tree.contents().items():
        mode = 0o755 if path in tree.executable else 0o644
        found[f"{home}/{path}"] = TreeNode("file", mode, owner, group, MOMENT, content)
    for path, target in tree.links.items():
        found[f"{home}/{path}"] = TreeNode("link", 0o777, owner, group, MOMENT, target=target)
    return found


def opened(tree: Tree, home: Path) -> tuple[Machine, BashkitShell]:
    """Return a fresh machine, and a shell on it of the user who runs the tests."""
    number = os.getuid()
    owner, group = pwd.getpwuid(number).pw_name, getgrgid(os.getgid()).gr_name
    user = User(owner, number, str(home), (group,))
    machine = Machine(
        "box",
        FileTree(BaseTree(nodes(tree, home, owner, group))),
        Clock(start=instant(NOW), per_step=0.0),
        TableRecords(),
        BashkitShell,
        users={owner: user},
        groups={group: os.getgid()},
    )
    environment = {**ENVIRONMENT, "HOME": str(home), "PWD": str(home)}
    return machine, BashkitShell(machine, user, directory=str(PurePosixPath(home)), environment=environment)


def run(entry: Entry, tree: Tree, home: Path) -> Outcome:
    """Run one entry in a fresh machine."""
    _, shell = opened(tree, home)
    done = shell.run(entry.text)
    return Outcome(
        done.stdout.encode("utf-8", "surrogateescape"), done.stderr.encode("utf-8", "surrogateescape"), done.exit_code
    )
