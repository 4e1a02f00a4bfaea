"""Git's objects as values, and their ids: the SHA-1 of what git would store (`git help cat-file`)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from hashlib import sha1
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["commit", "tree", "blob", "tag"]

FOLDER = "40000"
FILE = "100644"
NOTHING = "0" * 40


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """The entry at a path: its mode (`100644`, `100755`, `120000`, `40000`) and the id of the blob or tree."""

    mode: str
    sha: str


@dataclass(frozen=True, slots=True)
class Signature:
    """The person and time of a commit or tag; `at` is ISO 8601 with the local offset, `2031-01-04T09:00:00+01:00`."""

    name: str
    email: str
    at: str

    @property
    def moment(self) -> datetime:
        """The time as an aware datetime."""
        return datetime.fromisoformat(self.at)

    @property
    def seconds(self) -> int:
        """Whole seconds since 1970."""
        return _seconds(self.at)

    def encode(self) -> str:
        """Return git's own form: `Name <mail> 1925280000 +0100`."""
        return f"{self.name} <{self.email}> {_raw_time(self.at)}"


# A command asks for the same few times again and again.
@lru_cache(maxsize=4096)
def _seconds(at: str) -> int:
    return int(datetime.fromisoformat(at).timestamp())


@lru_cache(maxsize=4096)
def _raw_time(at: str) -> str:
    return f"{_seconds(at)} {datetime.fromisoformat(at):%z}"


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit; `message` is kept letter for letter."""

    tree: str
    parents: tuple[str, ...]
    author: Signature
    committer: Signature
    message: str

    @property
    def sha(self) -> str:
        """The id of the object."""
        lines = [f"tree {self.tree}", *(f"parent {parent}" for parent in self.parents)]
        lines += [f"author {self.author.encode()}", f"committer {self.committer.encode()}", "", self.message]
        return object_id("commit", "\n".join(lines).encode())


@dataclass(frozen=True, slots=True)
class Tag:
    """An annotated tag of a commit."""

    target: str
    name: str
    tagger: Signature
    message: str

    @property
    def sha(self) -> str:
        """The id of the object."""
        lines = [f"object {self.target}", "type commit", f"tag {self.name}", f"tagger {self.tagger.encode()}"]
        return object_id("tag", "\n".join([*lines, "", self.message]).encode())


def object_id(kind: Kind, content: bytes) -> str:
    """Return the id of an object."""
    # An id and no protection: without the flag, Pythons built for FIPS refuse SHA-1.
    return sha1(b"%s %d\0" % (kind.encode(), len(content)) + content, usedforsecurity=False).hexdigest()


def blob_id(content: bytes) -> str:
    """Return the id of a file's content."""
    return object_id("blob", content)


def tree_id(entries: Mapping[str, TreeEntry]) -> str:
    """Return the id of one folder."""
    return object_id(
        "tree",
        b"".join(
            b"%s %s\0%s" % (entry.mode.encode(), name.encode(), bytes.fromhex(entry.sha))
            for name, entry in in_order(entries.items())
        ),
    )


def in_order(entries: Iterable[tuple[str, TreeEntry]]) -> list[tuple[str, TreeEntry]]:
    """Return the entries of a folder in git's order, where a folder's name is compared as if it ended in a slash."""
    return sorted(entries, key=lambda item: (item[0] + "/" if item[1].mode == FOLDER else item[0]).encode())


EMPTY_TREE = tree_id({})


def folders_of(files: Mapping[str, TreeEntry]) -> tuple[str, dict[str, dict[str, TreeEntry]]]:
    """Return the trees that hold these files: the id of the root, and every tree by its id."""
    found: dict[str, dict[str, TreeEntry]] = {}
    return _folder(files, found), found


def _folder(files: Mapping[str, TreeEntry], found: dict[str, dict[str, TreeEntry]]) -> str:
    here: dict[str, TreeEntry] = {}
    inner: dict[str, dict[str, TreeEntry]] = {}
    for path, entry in files.items():
        name, slash, rest = path.partition("/")
        if slash:
            inner.setdefault(name, {})[rest] = entry
        else:
            here[name] = entry
    for name, below in inner.items():
        here[name] = TreeEntry(FOLDER, _folder(below, found))
    sha = tree_id(here)
    found[sha] = here
    return sha
