"""What the machines of a world begin with, as its tables hold it."""

from collections.abc import Mapping
from dataclasses import dataclass

from simtrain.files.yaml_files import Place
from simtrain.worlds.machine.accounts import User
from simtrain.worlds.machine.disk import Disk
from simtrain.worlds.machine.file_tree import BaseTree
from simtrain.worlds.machine.rows import groups_of, nodes_of, users_of
from simtrain.worlds.machine.spec import HostSource, MachineSpec
from simtrain.worlds.machine.spec_values import byte_count
from simtrain.worlds.service.database import Database

_SHELL = "select coalesce(max(pid), 611) + 11 as pid from processes where host = :host"


@dataclass(frozen=True, slots=True)
class Host:
    """What a machine begins with: its files, users, groups, disk, by how many seconds its clock is wrong, and the number of the process
    of a shell in which somebody has just logged in.
    """

    base: BaseTree
    users: Mapping[str, User]
    groups: Mapping[str, int]
    disk: Disk
    ahead: float = 0.0
    shell: int = 622


def placed_hosts(spec: MachineSpec) -> list[tuple[str, HostSource, Place]]:
    """Return the machines of a world file with their places in it; the agent's first."""
    return [(spec.hostname, spec, ()), *((name, host, ("machines", name)) for name, host in spec.machines.items())]


def host_of(database: Database, name: str, source: HostSource, base: Database) -> Host:
    """Return a machine as the tables hold it. `base` are those of the world before anything happened."""
    rows = database.rows("select path from mounts where host = :host and read_only order by path", {"host": name})
    locked = tuple(str(row["path"]) for row in rows)
    disk = Disk(byte_count(source.disk.size), byte_count(source.disk.largest_file), locked)
    clock = database.rows("select ahead from clocks where host = :host", {"host": name})
    return Host(
        BaseTree(nodes_of(database, name)),
        users_of(database, name),
        groups_of(database, name),
        disk,
        float(clock[0]["ahead"]) if clock else 0.0,
        int(base.rows(_SHELL, {"host": name})[0]["pid"]),
    )
