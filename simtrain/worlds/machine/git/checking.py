"""fsck: objects that are damaged, missing, or that nothing leads to."""

from simtrain.worlds.handlers.git.objects import EMPTY_TREE, NOTHING, Kind, folders_of, object_id
from simtrain.worlds.machine.git.folder import FolderRepository
from simtrain.worlds.machine.git.object_file import read_object
from simtrain.worlds.machine.git.object_graph import (
    DAMAGED,
    index_ids,
    led_to,
    logged_ids,
    logs,
    stored,
)
from simtrain.worlds.machine.git.object_table import ObjectTable
from simtrain.worlds.machine.git.peeling import named_object
from simtrain.worlds.machine.git.session import GitSession, GitStop, unknown_option

_USAGE = "usage: git fsck [--tags] [--root] [--unreachable] [--cache] [--no-reflogs]"
_KNOWN = {
    "--tags", "--root", "--unreachable", "--cache", "--no-reflogs", "--reflogs", "--full", "--no-full", "--strict",
    "--verbose", "-v", "--lost-found", "--dangling", "--no-dangling", "--progress", "--no-progress",
    "--connectivity-only", "--name-objects", "--no-name-objects",
}  # fmt: skip
_DAMAGE, _LACK, _STALE = 1, 2, 8
"""Parts of the exit code: something is damaged, something is missing, or a tree is that the index was written from."""


def fsck(session: GitSession) -> None:
    """Check all objects, and that each one is there which another leads to."""
    flags = {word for word in session.words if word.startswith("-")}
    for flag in flags - _KNOWN:
        raise unknown_option(flag, _USAGE)
    check = _Check(session, flags)
    check.files()
    check.starts([word for word in session.words if not word.startswith("-")])
    check.connections()
    session.code |= check.code


class _Check:
    """A check in progress."""

    def __init__(self, session: GitSession, flags: set[str]) -> None:
        self._session = session
        self._repository: FolderRepository = session.repository
        self._flags = flags
        self._kinds: dict[str, Kind] = {}
        self._starts: list[str] = []
        self._damaged: dict[str, str] = {}
        self._table = ObjectTable()
        self.code = 0

    def files(self) -> None:
        """Read the files of all objects."""
        for sha in stored(self._repository):
            name = f"objects/{sha[:2]}/{sha[2:]}"
            content = self._repository.disk.read(f"{self._repository.folder}/{name}")
            try:
                kind, plain = read_object(content)
            except DAMAGED:
                self._damaged[sha] = self._shown(name)
                self._tell_damage(sha, self._shown(name), is_empty=not content)
                continue
            own = object_id(kind, plain)
            if own != sha:
                self._error(f"{own}: hash-path mismatch, found at: {self._shown(name)}", _DAMAGE)
            if own == sha or own not in self._kinds:
                self._kinds[own] = kind
                self._table.meet(own)
                for one, _ in self._leads(own):
                    self._table.meet(one)
            if kind == "commit" and "--root" in self._flags and not self._repository.commit(own).parents:
                self._session.say(f"root {own}")
            if kind == "tag" and "--tags" in self._flags:
                tag = self._repository.tag_text(own)
                self._session.say(f"tagged {self._repository.kind(tag.target)} {tag.target} ({tag.name}) in {own}")

    def _shown(self, name: str) -> str:
        bare = self._repository.folder == self._repository.path
        return f"./{name}" if bare else f".git/{name}"

    def _tell_damage(self, sha: str, place: str, *, is_empty: bool) -> None:
        if is_empty:
            self._session.warn(f"error: object file {place} is empty")
            self._session.warn(f"error: unable to mmap {place}: No such file or directory")
        else:
            self._session.warn("error: inflate: data stream error (incorrect header check)")
            self._session.warn(f"error: unable to unpack header of {place}")
        self._error(f"{sha}: object corrupt or missing: {place}", _DAMAGE)

    def _error(self, text: str, code: int) -> None:
        self._session.warn(f"error: {text}")
        self.code |= code

    def starts(self, names: list[str]) -> None:
        """Find what the objects in use begin at: refs, their logs and the index, or the objects that are named."""
        session, repository = self._session, self._repository
        for name in names:
            sha = named_object(session, name)
            if sha is None:
                self._error(f"invalid parameter: expected sha1, got '{name}'", _DAMAGE)
            else:
                self._starts.append(sha)
        if not names:
            self._refs()
            if "--no-reflogs" not in self._flags:
                self._logs()
        if not names or "--cache" in self._flags:
            self._starts += index_ids(repository)
            self._starts += [sha for sha in self._staged_trees() if sha in self._kinds]

    def _staged_trees(self) -> list[str]:
        """Return the ids that the trees of the index would have, which git notes in the index: the root first."""
        root, trees = folders_of(self._repository.index())
        return [root, *(sha for sha in trees if sha != root)] if self._repository.index() else []

    def _refs(self) -> None:
        repository = self._repository
        head, found = repository.ref("HEAD"), list[str]()
        for name in repository.refs():
            sha = repository.ref(name) or NOTHING
            if sha in self._damaged:
                raise GitStop(f"fatal: loose object {sha} (stored in {self._damaged[sha]}) is corrupt")
            if sha in self._kinds:
                found.append(sha)
            else:
                shown = sha if len(sha) == 40 else NOTHING
                self._error(f"{name}: invalid sha1 pointer {shown}", _LACK)
        if head is None:
            self._session.warn(f"notice: HEAD points to an unborn branch ({repository.head.rpartition('/')[2]})")
        elif head in self._kinds:
            found.append(head)
        elif not repository.head.startswith("refs/"):
            self._error("HEAD: detached HEAD points at nothing", _LACK)
        if not found:
            self._session.warn("notice: No default references")
        self._starts += found

    def _logs(self) -> None:
        for name in logs(self._repository):
            for sha in logged_ids(self._repository, name):
                if sha in self._kinds:
                    self._starts.append(sha)
                else:
                    self._error(f"{name}: invalid reflog entry {sha}", _LACK)

    def connections(self) -> None:
        """Follow all objects to those that they lead to, and print what is missing or not in use."""
        used, lost = self._walk()
        pointed = {one for sha in self._kinds for one, _ in self._leads(sha)}
        for sha in self._table.ids():
            if sha in lost:
                self._session.say(f"missing {lost[sha]} {sha}")
                self.code |= _LACK
            elif sha in self._kinds and sha not in used:
                self._unused(sha, is_pointed=sha in pointed)

    def _walk(self) -> tuple[set[str], dict[str, Kind]]:
        """Return what is in use, and what of it is missing, and print where what is missing is first met."""
        used, lost = set[str](), dict[str, Kind]()
        waiting: list[str] = []

        def meet(sha: str, kind: Kind, source: str | None) -> None:
            self._table.meet(sha)
            if sha in used or (sha == EMPTY_TREE and sha not in self._kinds):
                return
            used.add(sha)
            if sha in self._kinds:
                waiting.append(sha)
                return
            lost[sha] = kind
            if source is not None:
                self._session.say(
                    f"broken link from {self._kinds[source]:>7} {source}\n              to {kind:>7} {sha}"
                )
                self.code |= _LACK

        for sha in self._starts:
            meet(sha, "blob", None)
        while waiting:
            sha = waiting.pop()
            for one, kind in self._leads(sha):
                meet(one, kind, sha)
        trees = self._staged_trees()
        if any(sha in lost for sha in trees):
            self._session.warn(
                f"error: {next(sha for sha in trees if sha in lost)}: invalid sha1 pointer in cache-tree"
            )
            self.code |= _STALE
        return used, lost

    def _leads(self, sha: str) -> list[tuple[str, Kind]]:
        try:
            return led_to(self._repository, sha)
        except DAMAGED:
            return []

    def _unused(self, sha: str, *, is_pointed: bool) -> None:
        kind = self._kinds[sha]
        if "--unreachable" in self._flags:
            self._session.say(f"unreachable {kind} {sha}")
        elif not is_pointed and "--no-dangling" not in self._flags:
            self._session.say(f"dangling {kind} {sha}")
            if "--lost-found" in self._flags:
                self._keep(sha, kind)

    def _keep(self, sha: str, kind: Kind) -> None:
        if kind == "blob":
            content = self._repository.blob(sha).decode("utf-8", "surrogateescape")
            self._repository.put_text(f"lost-found/other/{sha}", content)
        else:
            folder = "commit" if kind == "commit" else "other"
            self._repository.put_text(f"lost-found/{folder}/{sha}", f"{sha}\n")
