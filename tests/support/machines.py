"""A machine without a world, for tests of the shell and of single commands."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from simtrain.contracts.request import Request
from simtrain.files.yaml_files import parse_document
from simtrain.values.clock import Clock, instant
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.machine.accounts import ROOT, User
from simtrain.worlds.machine.bashkit_shell import BashkitShell
from simtrain.worlds.machine.engine import Finished
from simtrain.worlds.machine.file_tree import BaseTree, FileTree
from simtrain.worlds.machine.machine import Machine
from simtrain.worlds.machine.nodes import TreeNode
from simtrain.worlds.machine.source import MachineSource
from simtrain.worlds.machine.tables import TABLES
from simtrain.worlds.machine.world import MachineState, MachineWorld
from simtrain.worlds.service.database import Database, Mode

START = "2031-03-03T09:00:00Z"
ANN = User("ann", 1000, "/home/ann", ("ann", "sudo"), sudo=True)
BOB = User("bob", 1001, "/home/bob", ("bob",))
ENVIRONMENT = {
    "HOME": "/home/ann", "USER": "ann", "LOGNAME": "ann", "SHELL": "/bin/bash", "LANG": "C.UTF-8",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
}  # fmt: skip


class TableRecords:
    """The tables of a machine world in a database of their own."""

    def __init__(self) -> None:
        self.database = Database(moment=START)
        for statement in TABLES.split(";\n"):
            if statement.strip():
                self.database.run(statement, mode=Mode.SCHEMA)

    def read(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> list[JsonObject]:
        return self.database.rows(sql, parameters or {})

    def write(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> int:
        return self.database.run(sql, parameters or {}, mode=Mode.WRITE)

    def together(self) -> AbstractContextManager[None]:
        return self.database.savepoint("command", keep=True)


def machine_of(
    files: Mapping[str, str | bytes] | None = None, *, name: str = "web1", owner: User = ANN, python: str | None = None
) -> Machine:
    """Return a machine with users ann and bob and the files given by absolute path, which belong to `owner`.

    `python` is the sandbox in which its Python runs; None for a machine without.
    """
    moment = instant(START)
    nodes: dict[str, TreeNode] = {
        path: TreeNode("directory", mode, user, user, moment)
        for path, mode, user in (
            ("/", 0o755, "root"), ("/home", 0o755, "root"), ("/home/ann", 0o755, "ann"), ("/home/bob", 0o750, "bob"),
            ("/tmp", 0o1777, "root"), ("/etc", 0o755, "root"), ("/dev", 0o755, "root"), ("/root", 0o700, "root"),
        )
    }  # fmt: skip
    nodes["/dev/null"] = TreeNode("device", 0o666, "root", "root", moment)
    for path, content in (files or {}).items():
        at = path
        while (at := at.rpartition("/")[0]) and at not in nodes:
            nodes[at] = TreeNode("directory", 0o755, owner.name, owner.group, moment)
        data = content.encode() if isinstance(content, str) else content
        nodes[path] = TreeNode("file", 0o644, owner.name, owner.group, moment, data)
    records = TableRecords()
    if python is not None:
        records.write("insert into packages values (:host, 'apt', 'python3', '3.14.0-1')", {"host": name})
    return Machine(
        name,
        FileTree(BaseTree(nodes)),
        Clock(start=moment, per_step=0.0),
        records,
        BashkitShell,
        began=moment,
        users={"root": ROOT, "ann": ANN, "bob": BOB},
        groups={"root": 0, "sudo": 27, "ann": 1000, "bob": 1001},
        python=python,
    )


def shell_on(machine: Machine, *, user: User = ANN, directory: str | None = None) -> BashkitShell:
    """Return a shell of a user on a machine."""
    environment = {**ENVIRONMENT, "HOME": user.home, "USER": user.name, "LOGNAME": user.name}
    return BashkitShell(machine, user, directory=directory or user.home, environment=environment)


def run(script: str, files: Mapping[str, str | bytes] | None = None, *, stdin: str | None = None) -> Finished:
    """Return what a script leaves that ann runs in her home on a machine with these files (absolute paths)."""
    return shell_on(machine_of(files)).run(script, stdin=stdin)


def state_of(world: str) -> MachineState:
    """Return the beginning of an episode in a machine world, given as YAML."""
    found = MachineSource.load(parse_document(world, Path("desk.yaml"))).build()
    assert isinstance(found, MachineWorld)
    return found.open()


def bash(state: MachineState, command: str) -> str:
    """Return the reply to a call of `bash`."""
    return state.answer(Request(state.world.tools[0], {"command": command}, index=0, turn=0)).text
