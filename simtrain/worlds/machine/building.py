"""Building the tables of machines from a world file: users, files, processes, services, packages and cron."""

import sqlite3
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from posixpath import dirname, normpath

from simtrain.files.file_bytes import file_bytes
from simtrain.files.yaml_files import Document, Place
from simtrain.values.clock import instant, stamp
from simtrain.values.types import JsonObject
from simtrain.worlds.machine.commands.process_table import SSHD
from simtrain.worlds.machine.cron_times import cron_times
from simtrain.worlds.machine.database_files import database_files
from simtrain.worlds.machine.host_texts import HostTexts, moment_of
from simtrain.worlds.machine.nodes import TreeNode
from simtrain.worlds.machine.problems import problem_text
from simtrain.worlds.machine.programs import programs
from simtrain.worlds.machine.python_packages import build_index, insert, installed_files
from simtrain.worlds.machine.rows import PUT, groups_of, row_of, users_of
from simtrain.worlds.machine.skeleton import NOWHERE, skeleton
from simtrain.worlds.machine.spec import FileSource, HostSource, MachineSpec
from simtrain.worlds.machine.spec_values import SIMULATED, byte_count
from simtrain.worlds.repositories.folder import own_files
from simtrain.worlds.service.database import Database, Mode

_SYSTEM_USERS = {"root": 0, "daemon": 1, "www-data": 33, "nobody": 65534}
_SYSTEM_GROUPS = {
    "root": 0, "daemon": 1, "adm": 4, "tty": 5, "mail": 8, "sudo": 27, "www-data": 33, "shadow": 42, "users": 100,
    "nogroup": 65534,
}  # fmt: skip
_HOMES = {"root": "/root", "www-data": "/var/www"}
FIRST_USER = 1000
MOST_FILES = 20_000
_LARGEST_FOLDER = 3_000_000


def build(database: Database, spec: MachineSpec, document: Document) -> None:
    """Fill the tables of all machines. Raises InputError with the place in the file."""
    hosts: list[tuple[str, HostSource, Place]] = [(spec.hostname, spec, ())]
    hosts += [(name, host, ("machines", name)) for name, host in spec.machines.items()]
    if spec.hostname in spec.machines:
        raise document.error(("machines", spec.hostname), "this is the name of the first machine", "rename one")
    if spec.user != "root" and spec.user not in spec.users:
        raise document.error(("user",), f"there is no user {spec.user!r}", "add it under `users`")
    database.run("begin", mode=Mode.OWN)
    for name, version in spec.index.apt.items():
        insert(database, "package_index", manager="apt", name=name, version=version)
    build_index(database, spec, document)
    for name, host, place in hosts:
        builder = _Builder(database, spec, document, name, host, place, [each[0] for each in hosts])
        builder.build()
        # Where real programs run, an image may bring it.
        begins = spec.directory if host is spec and spec.shell == SIMULATED else None
        if begins is not None and not builder.has_directory(begins):
            raise document.error(("directory",), f"there is no directory {begins} on {name}", "make it under `files`")
    database.run("commit", mode=Mode.OWN)


class _Builder:
    def __init__(
        self,
        database: Database,
        spec: MachineSpec,
        document: Document,
        name: str,
        host: HostSource,
        place: Place,
        hosts: list[str],
    ) -> None:
        self.database = database
        self.spec = spec
        self.document = document
        self.name = name
        self.host = host
        self.place = place
        self.hosts = hosts
        self.start = instant(spec.clock.start)
        self.nodes: dict[str, TreeNode] = {}
        self.texts = HostTexts(database, document, name, place)

    def build(self) -> None:
        """Fill the tables of one machine."""
        self._users()
        self._files()
        self._processes()
        for path in dict.fromkeys(("/", *self.host.disk.read_only)):
            insert(self.database, "mounts", host=self.name, path=path, read_only=int(path in self.host.disk.read_only))
        insert(self.database, "clocks", host=self.name)
        for number, line in enumerate(self.host.cron):
            self.texts.check_user(line.user, ("cron", number, "user"))
            if cron_times(line.schedule) is None and line.schedule != "@reboot":
                raise self.texts.error(
                    ("cron", number, "schedule"),
                    f"{line.schedule!r} is no schedule",
                    "write it like */10 8-17 * * mon-fri, or @daily",
                )
            insert(
                self.database, "crontab", host=self.name, user=line.user, schedule=line.schedule, command=line.command
            )
        for manager, packages in self.host.packages.items():
            for package, version in packages.items():
                insert(self.database, "packages", host=self.name, manager=manager, name=package, version=version)

    def has_directory(self, path: str) -> bool:
        """Return whether the machine has a directory, or a link on the way to it."""
        path = normpath(path)
        node = self.nodes.get(self._nearest(path))
        return node is not None and (node.kind == "link" or (path in self.nodes and node.kind == "directory"))

    def _users(self) -> None:
        database, name = self.database, self.name
        groups, numbers = dict(_SYSTEM_GROUPS), dict(_SYSTEM_USERS)
        following = FIRST_USER
        for user, source in self.host.users.items():
            numbers[user] = source.uid or following
            following = max(following, numbers[user]) + 1
            for group in (source.group or user, *source.groups):
                groups.setdefault(group, numbers[user] if group == user else 2000 + len(groups))
        for group, number in groups.items():
            insert(database, "groups", host=name, name=group, gid=number)
        for user, number in numbers.items():
            source = self.host.users.get(user)
            home = (source and source.home) or _HOMES.get(user) or (f"/home/{user}" if source else NOWHERE)
            shell = source.shell if source else "/bin/bash" if user == "root" else "/usr/sbin/nologin"
            sudo = user == "root" or bool(source and source.sudo)
            insert(database, "users", host=name, name=user, uid=number, home=home, shell=shell, sudo=int(sudo))
            if source is None:
                primary, further = ("nogroup" if user == "nobody" else user), list[str]()
            else:
                primary, further = source.group or user, source.groups
            for position, group in enumerate(dict.fromkeys((primary, *further))):
                insert(database, "memberships", host=name, user=user, group=group, position=position)
        self.users, self.groups = users_of(database, name), groups_of(database, name)
        self.texts.users, self.texts.groups = self.users, self.groups

    def _files(self) -> None:
        members: dict[str, list[str]] = {}
        for user in self.users.values():
            for group in user.groups[1:]:
                members.setdefault(group, []).append(user.name)
        for path, node in skeleton(self.name, self.users, self.groups, members, self.hosts, self.start):
            self._put(path, node)
        # Real programs are brought by what runs them.
        if self.spec.shell == SIMULATED:
            for path, content in programs(self.spec.commands, python="python3" in self.host.packages.get("apt", ())):
                self._put(path, TreeNode("file", 0o755, "root", "root", self.start, content))
        for number, source in enumerate(self.host.files):
            place: Place = ("files", number)
            for path, node in self._made(source, place):
                if not path.startswith("/"):
                    raise self.texts.error((*place, "path"), f"{path!r} is no absolute path", "begin it with a slash")
                self._put(normpath(path), node)
                if len(self.nodes) > MOST_FILES:
                    raise self.texts.error(place, f"the machine has more than {MOST_FILES} files")
        for number, source in enumerate(self.host.databases):
            for path, node in database_files(self.texts, self.spec, source, ("databases", number)):
                self._put(normpath(path), node)
        self._repositories()
        for path, content in installed_files(self.database, self.spec, self.host, self.document, self.place):
            self._put(path, TreeNode("file", 0o644, "root", "root", self.start, content))
        largest = byte_count(self.host.disk.largest_file)
        for path, node in self.nodes.items():
            if len(node.content) > largest:
                raise self.texts.error(
                    ("files",), f"{path} has more than {largest} bytes", "let `size` claim what is more"
                )
            self.database.run(PUT, row_of(self.name, path, node), mode=Mode.OWN)

    def _repositories(self) -> None:
        if not self.host.repositories:
            return
        # Git comes with an extra, which machines without repositories do not need.
        from simtrain.worlds.machine.repositories import RepositoryMaker

        maker = RepositoryMaker(self.texts, self.host.disk, self.nodes, self.start)
        for number, source in enumerate(self.host.repositories):
            try:
                maker.make(source, ("repositories", number))
            except OSError as error:
                raise self.texts.error(("repositories", number), problem_text(error)) from None
            for path, node in maker.made():
                self._put(path, node)
            if len(self.nodes) > MOST_FILES:
                raise self.texts.error(("repositories", number), f"the machine has more than {MOST_FILES} files")

    def _put(self, path: str, node: TreeNode) -> None:
        above = dirname(path)
        if path != "/" and above not in self.nodes:
            owner = self.nodes[self._nearest(above)]
            self._put(above, TreeNode("directory", 0o755, owner.owner, owner.group, self.start))
        if path != "/" and self.nodes[above].kind != "directory":
            raise self.texts.error(("files",), f"{path} lies below {above}, which is no directory")
        self.nodes[path] = node

    def _nearest(self, path: str) -> str:
        # A directory that nobody wrote belongs to whom the one above belongs.
        while path not in self.nodes:
            path = dirname(path)
        return path

    def _made(self, source: FileSource, place: Place) -> Iterator[tuple[str, TreeNode]]:
        for values in self.texts.rows_of(source.each, {}, place):
            path = self.texts.text(source.path, values, (*place, "path"))
            owner, group = self.texts.ownership(source, values, place)
            mode = int(
                self.texts.text(source.mode or ("0755" if source.directory else "0644"), values, (*place, "mode")), 8
            )
            with self.document.at((*self.place, *place, "modified")):
                moment = moment_of(self.texts.text(source.modified or "start", values, place), self.start)
            if source.directory:
                yield path, TreeNode("directory", mode, owner, group, moment)
            elif source.link is not None:
                target = self.texts.text(source.link, values, (*place, "link"))
                yield path, TreeNode("link", 0o777, owner, group, moment, target=target)
            elif source.folder is not None:
                for name, content, runs in self._folder(source.folder, (*place, "folder")):
                    yield (
                        f"{path}/{name}",
                        TreeNode("file", mode | (0o111 if runs else 0), owner, group, moment, content),
                    )
            else:
                claimed = 0
                if source.size is not None:
                    with self.document.at((*self.place, *place, "size")):
                        size = source.size
                        claimed = byte_count(self.texts.text(size, values, place) if isinstance(size, str) else size)
                content = self._content(source, values, place)
                yield path, TreeNode("file", mode, owner, group, moment, content, claimed=claimed)

    def _content(self, source: FileSource, values: JsonObject, place: Place) -> bytes:
        if source.content is not None:
            return source.content.encode()
        if source.base64 is not None:
            try:
                return b64decode(source.base64, validate=True)
            except ValueError:
                raise self.texts.error(
                    (*place, "base64"), "this is not base64", "write it as `base64 FILE` does"
                ) from None
        if source.lines is not None:
            rows = self.texts.rows(source.lines, values, (*place, "lines"))
            return "".join(f"{next(iter(row.values()))}\n" for row in rows).encode()
        rows = self.texts.rows(source.rows, values, (*place, "rows")) if source.rows is not None else []
        return self.texts.text(source.template or "", {**values, "rows": rows}, (*place, "template")).encode()

    def _folder(self, name: str, place: Place) -> Iterator[tuple[str, bytes, bool]]:
        folder = self.texts.folder(name, place)
        top = self.document.path.parent.resolve()
        for path in own_files(folder):
            inside = path.resolve()
            # A link out of the world's folder would put files of the host into the world.
            if not inside.is_relative_to(top):
                raise self.texts.error(place, f"{path.name!r} leads out of the folder of the world file")
            yield path.relative_to(folder).as_posix(), file_bytes(path, most=_LARGEST_FOLDER), _runs(path)

    def _processes(self) -> None:
        running = {
            "systemd": (1, 0, "/sbin/init"),
            "cron": (312, 1, "/usr/sbin/cron -f"),
            "sshd": (SSHD, 1, "sshd: /usr/sbin/sshd -D"),
        }
        for service, (pid, parent, command) in running.items():
            port = 22 if service == "sshd" else None
            self._process(pid, command, parent=parent, port=port, service=None if pid == 1 else service)
        following = 611
        for number, (name, source) in enumerate(self.host.services.items()):
            self.texts.check_user(source.user, ("services", name, "user"))
            for required in source.requires:
                if required not in self.host.services and required not in running:
                    raise self.texts.error(
                        ("services", name, "requires"),
                        f"there is no service {required!r} on {self.name}",
                        "add it under `services`",
                    )
            insert(
                self.database, "services", host=self.name, name=name, description=source.description, state=source.state,
                enabled=int(source.enabled), command=source.command, user=source.user, port=source.port,
                requires=",".join(source.requires) or None, changed=stamp(self.start - 86400 * 3),
            )  # fmt: skip
            shown = any(process.service == name for process in self.host.processes)
            if source.state == "active" and source.command and not shown:
                self._process(following + number, source.command, user=source.user, port=source.port, service=name)
        following = 1203
        for number, process in enumerate(self.host.processes):
            self.texts.check_user(process.user, ("processes", number, "user"))
            pid = process.pid or following
            following = max(following, pid) + 7
            with self.document.at((*self.place, "processes", number, "started")):
                started = moment_of(process.started, self.start) if process.started else None
            self._process(
                pid, process.command, user=process.user, cpu=process.cpu, memory=byte_count(process.memory) // 1024,
                started=started, port=process.port, service=process.service,
            )  # fmt: skip

    def _process(
        self,
        pid: int,
        command: str,
        *,
        parent: int = 1,
        user: str = "root",
        cpu: float = 0.0,
        memory: int = 9_000,
        started: float | None = None,
        port: int | None = None,
        service: str | None = None,
    ) -> None:
        try:
            insert(
                self.database, "processes", host=self.name, pid=pid, parent=parent, user=user, command=command, cpu=cpu,
                memory=memory, started=stamp(self.start - 86400 * 3 if started is None else started), port=port, service=service,
            )  # fmt: skip
        except sqlite3.IntegrityError:
            raise self.texts.error(
                ("processes",), f"two processes have the number {pid}", "give one another `pid`"
            ) from None


def _runs(path: Path) -> bool:
    return bool(path.stat().st_mode & 0o100)
