"""Revisions such as `main~2`, `v1^{tree}` or `HEAD:docs/a.md`, resolved as by GitPython, with its error messages."""

import re
from collections import deque
from dataclasses import dataclass

from simtrain.contracts.handler import ToolError
from simtrain.worlds.handlers.git.history import ancestry
from simtrain.worlds.handlers.git.objects import FOLDER, Kind
from simtrain.worlds.handlers.git.repository import HEADS, Repository

# git resolves no abbreviation of fewer than four digits.
_HEX = re.compile(r"[0-9A-Fa-f]{4,40}")
_NUMBER = re.compile(r"[0-9]*")
_PLACE = re.compile(r"[0-9]{1,9}")
_OUTPUTS = frozenset({"commit", "tree", "blob", "tag"})
_MOVED = re.compile(r"checkout: moving from (.*) to .*")


class Unresolved(ToolError):
    """A revision that leads to no object."""

    def __init__(self, ref: str) -> None:
        super().__init__(f"Ref '{ref}' did not resolve to an object")


class NotPossible(ToolError):
    """A form of revision that GitPython does not know, and refuses without a message."""


@dataclass(frozen=True, slots=True)
class Object:
    """The object that a revision leads to."""

    kind: Kind
    sha: str


def candidates(name: str) -> tuple[str, ...]:
    """Return the full names that a short ref name may stand for; the first that exists counts (`git help rev-parse`)."""
    return (
        name,
        f"refs/{name}",
        f"refs/tags/{name}",
        f"refs/heads/{name}",
        f"refs/remotes/{name}",
        f"refs/remotes/{name}/HEAD",
    )


def full_name(repository: Repository, name: str) -> str | None:
    """Return the full name of the ref that a name stands for; None if no such ref exists."""
    wanted = "HEAD" if name == "@" else name
    return next(
        (one for one in candidates(wanted) if (one == "HEAD" or one.startswith("refs/")) and repository.ref(one)), None
    )


def resolve(repository: Repository, revision: str) -> Object:
    """Return the object that a revision leads to; an annotated tag leads to its commit. Raises ToolError."""
    found = _Reading(repository, revision).object()
    return Object("commit", repository.tag(found.sha)) if found.kind == "tag" else found


def earlier_checkout(repository: Repository, steps: int) -> str | None:
    """Return what was checked out `steps` checkouts ago: a branch, or an id. None if the log does not reach that far."""
    moves = [found[1] for entry in repository.log("HEAD") if (found := _MOVED.fullmatch(entry["message"]))]
    return moves[steps - 1] if 0 < steps <= len(moves) else None


class _Reading:
    """A revision being read from left to right."""

    def __init__(self, repository: Repository, text: str) -> None:
        self._repository = repository
        self._text = text
        self._at = 0

    def object(self) -> Object:
        if self._text.startswith(":/"):
            if self._text == ":/":
                raise ToolError("Revision search requires a pattern")
            return self._search(
                self._text[2:], [sha for sha in self._repository.refs().values() if not sha.startswith("ref: ")]
            )
        if self._text.startswith(":"):
            return self._staged(self._text[1:])
        found = self._start()
        while self._at < len(self._text):
            token = self._text[self._at]
            self._at += 1
            if token == ":":
                return self._inside(found, self._text[self._at :])
            if token == "@":
                found = self._logged()
            elif self._text[self._at : self._at + 1] == "{":
                found = self._as_type(found, self._braces())
            else:
                found = self._climb(found, token)
        return found

    def _start(self) -> Object:
        """Return the object that the name before the first mark refers to."""
        marks = [place for mark in ("^", "~", ":", "@{") if (place := self._text.find(mark)) >= 0]
        self._at = min(marks, default=len(self._text))
        name = self._text[: self._at]
        if name == "" and self._text.startswith("@{"):
            return self._named("HEAD")
        if name == "" and marks:
            raise ToolError(f"Revision specifier must start with an object name: {self._text}")
        try:
            return self._named(name)
        except Unresolved:
            if self._text.startswith(("@{u}", "@{upstream}"), self._at):
                # GitPython asks for the upstream before it resolves the name, so an unknown name fails there.
                raise NotPossible(self._text) from None
            raise

    def _named(self, name: str) -> Object:
        repository = self._repository
        if _HEX.fullmatch(name):
            prefix = name.lower()
            if len(prefix) == 40 and repository.kind(prefix) is None:
                raw = name.encode()
                raise ToolError(f"SHA {raw!r} could not be resolved, git returned: {raw + b' missing'!r}")
            found = repository.with_prefix(prefix)
            if len(found) == 1:
                return self._object(found[0])
        ref = full_name(repository, name)
        sha = repository.ref(ref) if ref else None
        if sha is None:
            raise Unresolved(name)
        return self._object(sha)

    def _object(self, sha: str) -> Object:
        kind = self._repository.kind(sha)
        if kind is None:
            raise Unresolved(sha)
        return Object(kind, sha)

    def _braces(self) -> str:
        end = self._text.find("}", self._at)
        if end < 0:
            raise ToolError(f"Missing closing brace to define type in {self._text}")
        inside = self._text[self._at + 1 : end]
        self._at = end + 1
        return inside

    def _as_type(self, found: Object, wanted: str) -> Object:
        commit = self._peeled(found)
        if wanted.startswith("/"):
            return self._search(wanted[1:], [self._commit(found)])
        if wanted in ("", "commit", "tag"):
            return commit
        if wanted not in _OUTPUTS:
            raise ToolError(f"Invalid output type: {wanted} ( in {self._text} )")
        if wanted == "tree" and commit.kind in ("commit", "tree"):
            return self._tree(commit)
        if wanted == commit.kind:
            return commit
        raise ToolError(f"Could not accommodate requested object type '{wanted}', got {commit.kind}")

    def _peeled(self, found: Object) -> Object:
        return Object("commit", self._repository.tag(found.sha)) if found.kind == "tag" else found

    def _commit(self, found: Object) -> str:
        peeled = self._peeled(found)
        if peeled.kind != "commit":
            raise ToolError(f'Cannot convert object <git.{peeled.kind.title()} "{peeled.sha}"> to type commit')
        return peeled.sha

    def _tree(self, found: Object) -> Object:
        peeled = self._peeled(found)
        if peeled.kind == "commit":
            return Object("tree", self._repository.commit(peeled.sha).tree)
        return peeled

    def _climb(self, found: Object, token: str) -> Object:
        digits = _NUMBER.match(self._text, self._at)
        number = digits[0] if digits else ""
        self._at += len(number)
        following = self._text[self._at : self._at + 1]
        if following not in ("", "^", "~", ":", "@"):
            raise ToolError(f"Invalid token: {following!r}")
        # Nine digits are more steps than any history has; Python refuses to read more than 4,300 digits.
        count = int(number[:9]) if number else 1
        commit = self._commit(found)
        short = Unresolved(
            f"Invalid revision spec '{self._text}' - not enough parent commits to reach '{token}{number}'"
        )
        if token == "~":
            for _ in range(count):
                parents = self._repository.commit(commit).parents
                if not parents:
                    raise short
                commit = parents[0]
        elif count > 0:
            parents = self._repository.commit(commit).parents
            if count > len(parents):
                raise short
            commit = parents[count - 1]
        return Object("commit", commit)

    def _logged(self) -> Object:
        """Return the object that `NAME@{N}` means, from the ref's log."""
        name = self._text[: self._at - 1]
        inside = self._braces()
        if inside in ("u", "upstream"):
            ref = full_name(self._repository, name) or self._repository.head
            upstream = self._repository.upstream(ref)
            if upstream is None:
                raise Unresolved(f"{name}@{{upstream}}")
            return self._named(upstream)
        if inside.startswith("-") and _PLACE.fullmatch(inside[1:]):
            if name:
                raise ToolError("Previous checkout selectors do not take an explicit ref")
            earlier = earlier_checkout(self._repository, int(inside[1:]))
            if earlier is None:
                raise Unresolved(self._text)
            return self._named(earlier)
        if not _PLACE.fullmatch(inside):
            raise NotPossible(self._text)
        entries = self._repository.log(full_name(self._repository, name) or "HEAD" if name else "HEAD")
        if int(inside) == 0 and not entries:
            return self._named(name or "HEAD")
        if int(inside) >= len(entries):
            raise ToolError(f"Invalid revlog index: {int(inside)}")
        return self._object(entries[int(inside)]["new"])

    def _search(self, text: str, starts: list[str]) -> Object:
        """Return the youngest commit whose message contains a text."""
        peeled = [self._peeled(self._object(sha)).sha for sha in starts]
        for sha in ancestry(self._repository, peeled):
            if text in self._repository.commit(sha).message:
                return Object("commit", sha)
        raise Unresolved(f"No commit found matching message pattern '{text}'")

    def _staged(self, path: str) -> Object:
        if path == "":
            raise ToolError("':' must be followed by a path")
        entry = self._repository.index().get(path)
        if entry is None:
            raise Unresolved(f"Path '{path}' did not exist in the index at stage 0")
        return Object("blob", entry.sha)

    def _inside(self, found: Object, path: str) -> Object:
        """Return the object at a path of the tree that was found."""
        here = self._tree(found)
        if path == "":
            return here
        rest = deque(path.split("/"))
        while rest:
            name = rest.popleft()
            entry = self._repository.tree(here.sha).get(name) if here.kind == "tree" else None
            if entry is None:
                raise ToolError(f"\"Blob or Tree named '{name if here.kind == 'tree' else path}' not found\"")
            here = Object("tree" if entry.mode == FOLDER else "blob", entry.sha)
        return here


def branch_of(repository: Repository, name: str) -> str | None:
    """Return the full name of the local branch with this short name; None if there is none."""
    full = HEADS + name
    return full if repository.ref(full) else None
