"""Repositories as an author writes them: commits with tags, remotes, and uncommitted changes."""

import re
from base64 import b64decode
from collections.abc import Mapping
from typing import TypeAlias, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from simtrain.contracts.handler import HandlerContext, ToolError
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject
from simtrain.worlds.handlers.git.history import ancestry, reachable
from simtrain.worlds.handlers.git.objects import FILE, NOTHING, Commit, Signature, Tag, TreeEntry
from simtrain.worlds.handlers.git.repository import HEADS, REMOTES, SYMBOLIC, TAGS, Repository
from simtrain.worlds.handlers.git.revisions import resolve
from simtrain.worlds.handlers.git.tables import TableRepository

_PERSON = re.compile(r"(.+) <([^<>]+)>")


class _Written(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class FileChange(_Written):
    """A change to a file: its new content or the file that it is moved from, then passages to replace, and its mode."""

    content: str | None = None
    base64: str | None = None
    moved_from: str | None = Field(default=None, alias="from")
    replace: tuple[tuple[str, str], ...] = ()
    append: str = ""
    mode: str | None = Field(default=None, pattern="^(100644|100755|120000)$")


Files: TypeAlias = Mapping[str, FileChange | str | None]
"""Path -> the change, the whole new content, or null for a file that is deleted."""


class AuthoredCommit(_Written):
    """One commit. A new branch begins at `start`; `merge` names a branch whose changes the commit takes in."""

    branch: str = "main"
    start: str | None = None
    merge: str | None = None
    at: str
    by: str
    message: str
    files: Files = Field(default_factory=dict)
    tag: str | None = None
    tag_message: str | None = None


class AuthoredRepository(_Written):
    """A whole repository. `remotes` are refs such as `origin/main` and their revisions, or `-> origin/main`."""

    path: str = Field(pattern="^/.*[^/]$")
    user: str
    checkout: str = "main"
    commits: list[AuthoredCommit] = Field(min_length=1)
    remotes: Mapping[str, str] = Field(default_factory=dict)
    upstreams: Mapping[str, str] = Field(default_factory=dict)
    staged: Files = Field(default_factory=dict)
    unstaged: Files = Field(default_factory=dict)


def repository(context: HandlerContext) -> JsonObject:
    """Write the rows of a repository. Raises InputError for one that cannot be made."""
    try:
        source = AuthoredRepository.model_validate(context.arguments)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in ("with", *first["loc"]))
        raise InputError(f"{place}: {first['msg']}", remedy="see Git repositories in docs/worlds.md") from None
    author(TableRepository(context, source.path), source)
    return {}


def author(empty: Repository, source: AuthoredRepository) -> None:
    """Make a repository as its author wrote it. Raises InputError for one that cannot be made."""
    try:
        _Author(empty, source).write()
    except ToolError as error:
        raise InputError(f"with: {error}") from None


def _person(text: str, place: str) -> tuple[str, str]:
    found = _PERSON.fullmatch(text)
    if found is None:
        raise InputError(f"{place}: {text!r} is not a person", remedy="write Name <mail>")
    return found[1], found[2]


class _Author:
    def __init__(self, empty: Repository, source: AuthoredRepository) -> None:
        self._source = source
        self._repository = empty
        self._on: str | None = None

    def write(self) -> None:
        name, mail = _person(self._source.user, "with.user")
        self._repository.begin(head=HEADS + self._source.checkout, name=name, mail=mail)
        for number, commit in enumerate(self._source.commits):
            self._commit(commit, f"with.commits[{number}]")
        self._refs()
        self._tree()

    def _commit(self, source: AuthoredCommit, place: str) -> None:
        repository, branch = self._repository, HEADS + source.branch
        parent = repository.ref(branch)
        if parent is None and source.start is not None:
            parent = resolve(repository, source.start).sha
        if parent is None and repository.refs():
            raise InputError(f"{place}: the branch {source.branch!r} is new", remedy="say with `start` where it begins")
        files = dict(repository.files(repository.commit(parent).tree)) if parent else {}
        parents = (parent,) if parent else ()
        if source.merge is not None and parent is not None:
            other = resolve(repository, source.merge).sha
            parents = (parent, other)
            files = self._merged(parent, other, set(source.files), place)
        self._apply(files, source.files, place)
        who = Signature(*_person(source.by, f"{place}.by"), source.at)
        made = Commit(repository.keep_tree(files), parents, who, who, source.message.rstrip("\n") + "\n")
        sha = repository.keep_commit(made)
        self._log(source, parent, sha)
        repository.set_ref(branch, sha)
        if source.tag is not None:
            self._tag(source, sha, who)

    def _tag(self, source: AuthoredCommit, sha: str, who: Signature) -> None:
        name = cast(str, source.tag)
        if source.tag_message is not None:
            sha = self._repository.keep_tag(Tag(sha, name, who, source.tag_message.rstrip("\n") + "\n"))
        self._repository.set_ref(TAGS + name, sha)

    def _log(self, source: AuthoredCommit, parent: str | None, sha: str) -> None:
        """Write the reflogs of the branch and of HEAD, as if all had been done in this repository."""
        note, branch = self._repository.note, source.branch
        last = self._repository.log("HEAD")
        if self._on not in (None, branch) and last and parent:
            note(
                "HEAD",
                old=last[0]["new"],
                new=parent,
                message=f"checkout: moving from {self._on} to {branch}",
                at=source.at,
            )
        self._on = branch
        sort = " (initial)" if parent is None else " (merge)" if source.merge else ""
        message = f"commit{sort}: {source.message.partition(chr(10))[0]}"
        for ref in (HEADS + branch, "HEAD"):
            note(ref, old=parent or NOTHING, new=sha, message=message, at=source.at)

    def _merged(self, ours: str, theirs: str, given: set[str], place: str) -> dict[str, TreeEntry]:
        repository = self._repository
        known = reachable(repository, theirs)
        base = next((sha for sha in ancestry(repository, [ours]) if sha in known), None)
        before = repository.files(repository.commit(base).tree) if base else {}
        merged, theirs_files = (dict(repository.files(repository.commit(sha).tree)) for sha in (ours, theirs))
        # Left as they are: what the other side did not change, what both changed alike, and what the author gives in `files`.
        for path in {**before, **theirs_files}:
            if (
                before.get(path) == theirs_files.get(path)
                or merged.get(path) == theirs_files.get(path)
                or path in given
            ):
                continue
            # A three-way merge by whole files: lines are never merged, since the author can state the result.
            if merged.get(path) != before.get(path):
                raise InputError(f"{place}: both sides changed {path}", remedy="give the merged content in `files`")
            if path in theirs_files:
                merged[path] = theirs_files[path]
            else:
                del merged[path]
        return merged

    def _apply(self, files: dict[str, TreeEntry], changes: Files, place: str) -> None:
        for path, change in changes.items():
            if change is None:
                if files.pop(path, None) is None:
                    raise InputError(f"{place}: there is no {path} to be deleted")
                continue
            mode, content = self._changed(files, path, change, place)
            files[path] = TreeEntry(mode, self._repository.keep_blob(content))

    def _changed(
        self, files: dict[str, TreeEntry], path: str, change: FileChange | str, place: str
    ) -> tuple[str, bytes]:
        if isinstance(change, str):
            return files[path].mode if path in files else FILE, change.encode()
        origin = change.moved_from or path
        before = files.get(origin)
        if change.content is not None or change.base64 is not None:
            content = b64decode(change.base64) if change.base64 is not None else cast(str, change.content).encode()
        elif before is not None:
            content = self._repository.blob(before.sha)
        else:
            raise InputError(f"{place}: there is no {origin} to be changed", remedy="give its content")
        if change.moved_from is not None:
            files.pop(change.moved_from, None)
        for old, new in change.replace:
            if content.count(old.encode()) != 1:
                raise InputError(
                    f"{place}: {old!r} is not there once in {origin}, but {content.count(old.encode())} times"
                )
            content = content.replace(old.encode(), new.encode())
        return change.mode or (before.mode if before else FILE), content + change.append.encode()

    def _refs(self) -> None:
        repository, source = self._repository, self._source
        for name, revision in source.remotes.items():
            arrow = revision.removeprefix("-> ")
            target = SYMBOLIC + REMOTES + arrow if arrow != revision else resolve(repository, revision).sha
            repository.set_ref(REMOTES + name, target)
        for branch, upstream in source.upstreams.items():
            repository.set_upstream(HEADS + branch, REMOTES + upstream)
        if repository.ref("HEAD") is None:
            raise InputError(f"with.checkout: there is no branch {source.checkout!r}")
        last = repository.log("HEAD")[0]["new"]
        if self._on != source.checkout:
            message = f"checkout: moving from {self._on} to {source.checkout}"
            now = cast(str, repository.ref("HEAD"))
            repository.note("HEAD", old=last, new=now, message=message, at=source.commits[-1].at)

    def _tree(self) -> None:
        """Write the index and the working tree."""
        repository = self._repository
        files = dict(repository.files(repository.commit(cast(str, repository.ref("HEAD"))).tree))
        self._apply(files, self._source.staged, "with.staged")
        repository.stage(dict(files))
        now = {path: (entry.mode, repository.blob(entry.sha)) for path, entry in files.items()}
        for path, change in self._source.unstaged.items():
            if change is None:
                now.pop(path, None)
                continue
            if isinstance(change, FileChange) and change.moved_from is not None:
                now.pop(change.moved_from, None)
            now[path] = self._changed(dict(files), path, change, "with.unstaged")
        for path, (mode, content) in now.items():
            repository.put_file(path, mode, content)
