"""What every repository offers, wherever its objects, refs, index and working tree are kept."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TypeVar

from simtrain.values.types import JsonObject
from simtrain.worlds.handlers.git.objects import FOLDER, Commit, Kind, Tag, TreeEntry

SYMBOLIC = "ref: "
HEADS = "refs/heads/"
REMOTES = "refs/remotes/"
TAGS = "refs/tags/"
ABBREVIATION = 7

T = TypeVar("T")


class Repository(ABC):
    """A repository by its path. An instance serves one tool call or command, so that nothing is cached between calls."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._flat: dict[str, dict[str, TreeEntry]] = {}

    @abstractmethod
    def begin(self, *, head: str, name: str, mail: str) -> None:
        """Make the repository, with HEAD at a branch, and with the person who commits in it."""
        ...

    # Objects.

    @abstractmethod
    def kind(self, sha: str) -> Kind | None:
        """Return the kind of the object with an id; None if no such object exists."""
        ...

    @abstractmethod
    def with_prefix(self, prefix: str) -> list[str]:
        """Return the ids that begin with `prefix` (small hexadecimal digits), sorted."""
        ...

    def abbreviated(self, sha: str) -> str:
        """Return the first seven digits of an id, or as many more as make it unique."""
        others = [other for other in self.with_prefix(sha[:ABBREVIATION]) if other != sha]
        length = ABBREVIATION
        while length < len(sha) and any(other.startswith(sha[:length]) for other in others):
            length += 1
        return sha[:length]

    @abstractmethod
    def commit(self, sha: str) -> Commit:
        """Return an existing commit."""
        ...

    @abstractmethod
    def tag(self, sha: str) -> str:
        """Return the commit that an annotated tag points to."""
        ...

    @abstractmethod
    def tree(self, sha: str) -> dict[str, TreeEntry]:
        """Return the entries of one folder, in git's order."""
        ...

    def files(self, tree: str) -> dict[str, TreeEntry]:
        """Return every file of a tree and of the folders in it, by path. Each tree is read once."""
        if tree not in self._flat:
            found: dict[str, TreeEntry] = {}
            for name, entry in self.tree(tree).items():
                if entry.mode == FOLDER:
                    found.update((f"{name}/{path}", inner) for path, inner in self.files(entry.sha).items())
                else:
                    found[name] = entry
            self._flat[tree] = found
        return self._flat[tree]

    @abstractmethod
    def blob(self, sha: str) -> bytes:
        """Return the content of an existing blob."""
        ...

    @abstractmethod
    def keep_blob(self, content: bytes) -> str:
        """Store a file's content, and return its id."""
        ...

    @abstractmethod
    def keep_tree(self, files: Mapping[str, TreeEntry]) -> str:
        """Store the trees that hold these files, and return the id of the root."""
        ...

    @abstractmethod
    def keep_commit(self, commit: Commit) -> str:
        """Store a commit, and return its id."""
        ...

    @abstractmethod
    def keep_tag(self, tag: Tag) -> str:
        """Store an annotated tag, and return its id."""
        ...

    # Refs.

    @property
    @abstractmethod
    def head(self) -> str:
        """The content of HEAD: the full name of a branch, or the id of a commit."""
        ...

    @property
    @abstractmethod
    def user(self) -> tuple[str, str]:
        """The name and mail address of the committer."""
        ...

    @abstractmethod
    def refs(self) -> dict[str, str]:
        """Return all refs by full name, sorted; a symbolic one holds `ref: NAME`."""
        ...

    @abstractmethod
    def target(self, name: str) -> str | None:
        """Return what a ref holds: an id, or `ref: NAME`; None if there is no such ref."""
        ...

    def ref(self, name: str) -> str | None:
        """Return the id that a ref (or `HEAD`) leads to; None if it leads nowhere."""
        if name == "HEAD":
            head = self.head
            return self.ref(head) if head.startswith("refs/") else head
        target = self.target(name)
        if target is None:
            return None
        return self.ref(target.removeprefix(SYMBOLIC)) if target.startswith(SYMBOLIC) else target

    @abstractmethod
    def upstream(self, name: str) -> str | None:
        """Return the full name of the upstream of a branch; None if it has none."""
        ...

    @abstractmethod
    def set_upstream(self, name: str, upstream: str) -> None:
        """Set the upstream of a branch, both by their full names."""
        ...

    @abstractmethod
    def set_ref(self, name: str, sha: str) -> None:
        """Create or move a ref."""
        ...

    @abstractmethod
    def set_head(self, value: str) -> None:
        """Set HEAD to a branch, or to the id of a commit."""
        ...

    @abstractmethod
    def log(self, ref: str) -> list[JsonObject]:
        """Return the entries of a ref's log, newest first: `old`, `new`, `message`."""
        ...

    @abstractmethod
    def note(self, ref: str, *, old: str, new: str, message: str, at: str) -> None:
        """Add an entry to a ref's log."""
        ...

    # Index and working tree.

    @abstractmethod
    def index(self) -> dict[str, TreeEntry]:
        """Return what is staged, by path, in git's order."""
        ...

    @abstractmethod
    def stage(self, changes: Mapping[str, TreeEntry | None]) -> None:
        """Set entries of the index; None removes one."""
        ...

    @abstractmethod
    def worktree(self) -> dict[str, tuple[str, bytes]]:
        """Return the files of the working tree: mode and content by path, in git's order."""
        ...

    @abstractmethod
    def put_files(self, changes: Mapping[str, TreeEntry | None]) -> None:
        """Write files of the working tree as their entries say; None removes one."""
        ...

    @abstractmethod
    def put_file(self, path: str, mode: str, content: bytes) -> None:
        """Write a new file into the working tree."""
        ...


def by_path(found: dict[str, T]) -> dict[str, T]:
    """Return what is listed by path in git's order."""
    return dict(sorted(found.items(), key=lambda item: item[0].encode()))
