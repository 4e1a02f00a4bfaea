"""Git repositories of a machine, made from lists of commits when a world is built, by the same git that agents then use."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from functools import partial
from posixpath import normpath
from shlex import split

from simtrain.files.yaml_files import Place
from simtrain.values.clock import Clock, instant
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.machine.accounts import ROOT, User
from simtrain.worlds.machine.bashkit_shell import BashkitShell
from simtrain.worlds.machine.commands.git import git
from simtrain.worlds.machine.disk import Disk
from simtrain.worlds.machine.file_tree import BaseTree, FileTree
from simtrain.worlds.machine.files import Files
from simtrain.worlds.machine.git.folder import FolderRepository
from simtrain.worlds.machine.host_texts import HostTexts, relative_moment
from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.machine import Machine
from simtrain.worlds.machine.nodes import TreeNode
from simtrain.worlds.machine.past_commits import PastCommits
from simtrain.worlds.machine.spec import DiskSource, MachineCommit, MachineRepository
from simtrain.worlds.machine.spec_values import byte_count
from simtrain.worlds.repositories.commits import past_of
from simtrain.worlds.service.database import Database, Mode

_PERSON = re.compile(r"(?P<name>[^<>\n]*[^<>\s]) <(?P<mail>[^<>\s]+)>")
_TEMPLATE = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_PAUSE = 60.0
"""Seconds between two steps of `then`."""


class RepositoryMaker:
    """The repositories of one machine, over the files that it has already."""

    def __init__(self, texts: HostTexts, disk: DiskSource, nodes: Mapping[str, TreeNode], start: float) -> None:
        self.texts = texts
        self._start = start
        self._tree = FileTree(BaseTree(dict(nodes)))
        self._clock = Clock(start=start, per_step=0)
        self._disk = Disk(byte_count(disk.size), byte_count(disk.largest_file))
        self._machine = Machine(
            texts.name,
            self._tree,
            self._clock,
            _Tables(texts.database),
            partial(BashkitShell, own={}),
            users=texts.users,
            groups=texts.groups,
            disk=self._disk,
        )
        self._machine.peers = {texts.name: self._machine}

    def make(self, source: MachineRepository, place: Place) -> None:
        """Make a repository, or one for each row of `each`. Raises InputError with the place in the file."""
        for values in self.texts.rows_of(source.each, {}, place):
            _Making(self, source, values, place).make()

    def made(self) -> Iterator[tuple[str, TreeNode]]:
        """Yield what was made since the last call, a directory before what is in it."""
        for path in sorted(self._tree.touched):
            node = self._tree.get(path)
            if node is not None:
                yield path, node
        self._tree.touched.clear()

    def begin(self, path: str, owner: str, group: str) -> Files:
        """Return the files as the owner of a new repository sees them, with its empty folder."""
        files = Files(self._tree, self._clock, ROOT, self._disk)
        files.make_directory(path, parents=True)
        files.change_owner(path, owner=owner, group=group)
        user = self.texts.users[owner]
        acting = User(user.name, user.uid, user.home, tuple(dict.fromkeys((group, *user.groups))))
        return Files(self._tree, self._clock, acting, self._disk)

    def run(
        self, files: Files, path: str, words: Sequence[str], who: tuple[str, str], moment: tuple[float, str]
    ) -> Result:
        """Carry out a git command in a repository, as somebody at a moment."""
        self._clock.moment = moment[0]
        date = f"{int(moment[0])} {moment[1]}"
        environment = {"HOME": files.user.home, "USER": files.user.name, "TZ": "UTC"}
        for role in ("AUTHOR", "COMMITTER"):
            environment |= {f"GIT_{role}_NAME": who[0], f"GIT_{role}_EMAIL": who[1], f"GIT_{role}_DATE": date}
        return git(Invocation("git", tuple(words), None, environment, path, files, self._machine))

    def moment(self, text: str) -> tuple[float, str]:
        """Return a date of the file as Unix time and offset such as +0100. Raises InputError."""
        relative = relative_moment(text, self._start)
        if relative is not None:
            return relative, "+0000"
        found = instant(text)
        return found, datetime.fromisoformat(text).strftime("%z") or "+0000"

    def set_time(self, moment: float) -> None:
        """Let files be written at a moment."""
        self._clock.moment = moment


class _Making:
    """One repository in the making: its files as the owner sees them, and the last commit's author and date."""

    def __init__(self, maker: RepositoryMaker, source: MachineRepository, values: JsonObject, place: Place) -> None:
        self.maker, self.source, self.values, self.place = maker, source, values, place
        self.texts = maker.texts
        self.path = normpath(self.texts.text(source.path, values, (*place, "path")))
        self.files = maker.begin(self.path, *self.texts.ownership(source, values, place))
        self.repository = FolderRepository(self.files, self.path)
        self.who = ("", "")
        self.moment = (0.0, "+0000")

    def make(self) -> None:
        branch = self.texts.text(self.source.branch, self.values, (*self.place, "branch"))
        begun = False
        if self.source.folder is not None:
            self._take_folder(branch, (*self.place, "folder"))
            begun = True
        for number, commit in enumerate(self.source.commits):
            place = (*self.place, "commits", number)
            for values in self.texts.rows_of(commit.each, self.values, place):
                self._date(commit, values, place)
                if not begun:
                    self._git(["init", "-q", "-b", branch], (*self.place, "branch"))
                    begun = True
                self._commit(commit, values, place)
        if not begun:
            raise self.texts.error((*self.place, "commits"), "the repository would have no commit")
        for number, step in enumerate(self.source.then):
            self.moment = (self.moment[0] + _PAUSE, self.moment[1])
            self._leave(step, (*self.place, "then", number))

    def _take_folder(self, branch: str, place: Place) -> None:
        """Make the commits of a folder of code."""
        folder = self.texts.folder(self.source.folder or "", place)
        made = PastCommits(self.maker, self.files, self.path, branch)
        with self.texts.document.at((*self.texts.place, *place)):
            made.make(past_of(folder))
        self.who, self.moment = made.who, made.moment

    def _date(self, commit: MachineCommit, values: JsonObject, place: Place) -> None:
        author = self.texts.text(commit.author or self.source.author or "", values, (*place, "author"))
        person = _PERSON.fullmatch(author)
        if person is None:
            where = (*place, "author") if commit.author else place
            raise self.texts.error(
                where, f"{author!r} is no author of a commit", "write it like Kim Ode <kim@example.org>"
            )
        self.who = person["name"], person["mail"]
        try:
            self.moment = self.maker.moment(self.texts.text(commit.date, values, (*place, "date")))
        except InputError as error:
            raise self.texts.error((*place, "date"), error.problem, error.remedy) from None

    def _commit(self, commit: MachineCommit, values: JsonObject, place: Place) -> None:
        self._check_out(commit, values, place)
        message = self.texts.text(commit.message, values, (*place, "message"))
        other = self._told(commit.merge, values, (*place, "merge"))
        if other is not None:
            self._git(["merge", "-q", "--no-ff", "--no-commit", other], (*place, "merge"), conflicts=True)
            self._check_merge(commit, place)
        executable = {self.texts.text(path, values, (*place, "executable")) for path in commit.executable}
        self._write(commit.files, values, (*place, "files"), executable)
        if commit.files:
            self._git(["add", "-A"], (*place, "files"))
        before = self.repository.ref("HEAD")
        result = self._run(["commit", "-q", "-m", message])
        if self.repository.ref("HEAD") == before:
            why = _first(result) if result.stderr else "nothing is changed by it"
            raise self.texts.error(place, f"the commit cannot be made: {why}")
        tag = self._told(commit.tag, values, (*place, "tag"))
        if tag is not None:
            self._git(["tag", tag], (*place, "tag"))

    def _check_merge(self, commit: MachineCommit, place: Place) -> None:
        if self.repository.text("MERGE_HEAD") is None:
            raise self.texts.error((*place, "merge"), "there is nothing to merge")
        conflicts = sorted(self.repository.conflicts())
        if conflicts and not commit.files:
            raise self.texts.error(
                (*place, "merge"),
                f"the merge has conflicts in {', '.join(conflicts)}",
                "write under `files` what they become",
            )

    def _check_out(self, commit: MachineCommit, values: JsonObject, place: Place) -> None:
        start = self._told(commit.start, values, (*place, "from"))
        branch = self._told(commit.branch, values, (*place, "branch"))
        if branch is None:
            if start is not None:
                self._git(["checkout", "-q", "--detach", start], (*place, "from"))
            return
        if self.repository.head == f"refs/heads/{branch}":
            return
        known = self.repository.ref(f"refs/heads/{branch}") is not None
        if known and start:
            raise self.texts.error((*place, "from"), f"the branch {branch!r} is there already", "leave out `from`")
        begin = ["checkout", "-q", "-b", branch, *([] if start is None else [start])]
        self._git(["checkout", "-q", branch] if known else begin, (*place, "branch"))

    def _told(self, source: str | None, values: JsonObject, place: Place) -> str | None:
        """Return a text that may be left out; one that comes out empty counts as left out."""
        return None if source is None else self.texts.text(source, values, place) or None

    def _leave(self, step: str | dict[str, str | None], place: Place) -> None:
        if not isinstance(step, str):
            self.maker.set_time(self.moment[0])
            self._write(step, self.values, place, set())
            return
        try:
            words = _words(step)
        except ValueError as error:
            raise self.texts.error(place, f"the command line cannot be read: {error}") from None
        if not words:
            raise self.texts.error(place, "there is no command of git", "write it like checkout main")
        self._git([self.texts.text(word, self.values, place) for word in words], place, conflicts=True)

    def _write(self, files: Mapping[str, str | None], values: JsonObject, place: Place, executable: set[str]) -> None:
        for name, source in files.items():
            where = (*place, name)
            path = self.texts.text(name, values, where)
            if path.startswith("/") or ".." in path.split("/") or path.split("/")[0] == ".git":
                raise self.texts.error(where, f"{path!r} is no path within the working tree")
            if source is None:
                if not self.files.exists(f"{self.path}/{path}", follow=False):
                    raise self.texts.error(where, f"there is no file {path!r} to remove")
                self.repository.put_files({path: None})
                continue
            mode = "100755" if path in executable else self._mode(path)
            text = self.texts.text(source, values, where)
            # A template loses the newline at its end.
            ending = "\n" if source.endswith("\n") and not text.endswith("\n") else ""
            try:
                self.repository.put_file(path, mode, f"{text}{ending}".encode())
            except OSError as error:
                raise self.texts.error(where, f"{path} cannot be written: {error.strerror}") from None

    def _mode(self, path: str) -> str:
        full = f"{self.path}/{path}"
        return "100755" if self.files.exists(full) and self.files.node(full).mode & 0o100 else "100644"

    def _git(self, words: Sequence[str], place: Place, *, conflicts: bool = False) -> None:
        """Run a git command. `conflicts` says that it may end with some."""
        result = self._run(words)
        if result.exit_code and not (conflicts and self.repository.conflicts()):
            raise self.texts.error(place, f"git {words[0]} fails: {_first(result)}")

    def _run(self, words: Sequence[str]) -> Result:
        return self.maker.run(self.files, self.path, words, self.who, self.moment)


class _Tables:
    """The tables of a world that is being built, for the commands of its machines."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> list[JsonObject]:
        return self._database.rows(sql, parameters or {})

    def write(self, sql: str, parameters: Mapping[str, JsonValue] | None = None) -> int:
        return self._database.run(sql, parameters or {}, mode=Mode.WRITE)

    def together(self) -> AbstractContextManager[None]:
        return self._database.savepoint("command", keep=True)


def _words(line: str) -> list[str]:
    """Return the words of a command line. What a template puts in is never split. Raises ValueError for quotes without an end."""
    templates: list[str] = _TEMPLATE.findall(line)
    words = split(_TEMPLATE.sub("\0", line))
    return [re.sub("\0", lambda _: templates.pop(0), word) for word in words]


def _first(result: Result) -> str:
    """Return the first line of what went wrong."""
    lines = (result.stderr.strip() or result.stdout.strip()).splitlines()
    return lines[0].removeprefix("fatal: ").removeprefix("error: ") if lines else f"exit code {result.exit_code}"
