"""What the machines of a world begin with, as its tables hold it."""

from collections.abc import Mapping
from dataclasses import dataclass

from simtrain.worlds.machine.accounts import User
from simtrain.worlds.machine.file_tree import BaseTree
from simtrain.worlds.machine.files import Disk
from simtrain.worlds.machine.rows import groups_of, nodes_of, users_of
from simtrain.worlds.machine.spec import HostSource, byte_count
from simtrain.worlds.service.database import Database


@dataclass(frozen=True, slots=True)
class Host:
    """What a machine begins with: its files, users, groups and disk."""

    base: BaseTree
    users: Mapping[str, User]
    groups: Mapping[str, int]
    disk: Disk


def host_of(database: Database, name: str, source: HostSource) -> Host:
    """Return a machine as the tables hold it."""
    disk = Disk(byte_count(source.disk.size), byte_count(source.disk.largest_file), tuple(source.disk.read_only))
    return Host(BaseTree(nodes_of(database, name)), users_of(database, name), groups_of(database, name), disk)
