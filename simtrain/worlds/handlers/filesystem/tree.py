"""The file system as rows: look up, list, create, replace and move nodes.

Tables: `roots (position integer primary key, path text)`, the folders that the server may use, and
`nodes (path text primary key, kind, content, encoding, target, mode, created, modified, accessed, parent, size)` with one row for
each file, directory and symlink, `/` and the ancestors of the roots among them. `kind` is 'file', 'directory' or 'symlink';
`content` is text where `encoding` is 'utf-8', else 'base64'; `target` is where a symlink points; times are `2031-03-03T09:00:20Z`;
`parent` (the path of the directory) and `size` (bytes; 4096 for a directory) are generated columns.
"""

from base64 import b64decode
from dataclasses import dataclass
from functools import cached_property
from posixpath import basename, dirname, join, normpath
from typing import Literal, cast

from simtrain.contracts.handler import HandlerContext
from simtrain.worlds.handlers.filesystem.failures import FileSystemFailure

# Linux's NAME_MAX, PATH_MAX without its NUL, and the symlinks that one lookup follows (path_resolution(7)), in bytes.
LONGEST_NAME = 255
LONGEST_PATH = 4095
MOST_LINKS = 40

_COLUMNS = "path, kind, size, mode, target, created, modified, accessed"


@dataclass(frozen=True, slots=True)
class FileNode:
    """A file, directory or symlink, without its content. Times are instants of the world; size is in bytes."""

    path: str
    kind: Literal["file", "directory", "symlink"]
    size: int
    mode: int
    target: str | None
    created: str
    modified: str
    accessed: str

    @property
    def name(self) -> str:
        """The last part of the path."""
        return basename(self.path)


class Tree:
    """The nodes of a world, as seen by one tool call."""

    def __init__(self, context: HandlerContext) -> None:
        self._context = context

    @cached_property
    def roots(self) -> list[str]:
        """The folders that the server may use, in order."""
        return [row["path"] for row in self._context.read("select path from roots order by position")]

    def node(self, path: str) -> FileNode | None:
        """Return the node at exactly this path; a symlink is not followed."""
        rows = self._context.read(f"select {_COLUMNS} from nodes where path = :path", {"path": path})
        return FileNode(**rows[0]) if rows else None

    def real(self, path: str) -> FileNode:
        """Return the node at a path with all symlinks followed. Raises FileSystemFailure as realpath does."""
        if len(path.encode()) > LONGEST_PATH:
            raise FileSystemFailure("ENAMETOOLONG", "realpath", path)
        found = cast(FileNode, self.node("/"))
        left = [part for part in reversed(path.split("/")) if part]
        links = 0
        while left:
            part = left.pop()
            if found.kind != "directory":
                raise FileSystemFailure("ENOTDIR", "realpath", path)
            if len(part.encode()) > LONGEST_NAME:
                raise FileSystemFailure("ENAMETOOLONG", "realpath", path)
            step = self.node(normpath(join(found.path, part)))
            if step is None:
                raise FileSystemFailure("ENOENT", "realpath", path)
            if step.kind != "symlink":
                found = step
                continue
            links += 1
            if links > MOST_LINKS:
                raise FileSystemFailure("ELOOP", "realpath", path)
            target = cast(str, step.target)
            left += [name for name in reversed(target.split("/")) if name and name != "."]
            if target.startswith("/"):
                found = cast(FileNode, self.node("/"))
        return found

    def content(self, path: str) -> bytes:
        """Return the bytes of the file at a path. Raises FileSystemFailure as open and read do."""
        rows = self._context.read("select kind, content, encoding from nodes where path = :path", {"path": path})
        if not rows:
            raise FileSystemFailure("ENOENT", "open", path)
        if rows[0]["kind"] == "directory":
            raise FileSystemFailure("EISDIR", "read")
        content = rows[0]["content"]
        return b64decode(content) if rows[0]["encoding"] == "base64" else content.encode()

    def text(self, path: str) -> str:
        """Return the text of the file at a path; invalid UTF-8 becomes U+FFFD. Raises FileSystemFailure."""
        return self.content(path).decode(errors="replace")

    def entries(self, path: str) -> list[FileNode]:
        """Return the entries of the directory at a path, ordered by the bytes of their names. Raises FileSystemFailure as scandir does."""
        self._must_be_listable(path)
        rows = self._context.read(f"select {_COLUMNS} from nodes where parent = :path order by path", {"path": path})
        return [FileNode(**row) for row in rows]

    def below(self, path: str) -> dict[str, list[FileNode]]:
        """Return the entries of a directory and of all directories below it, by the path of the directory. Raises FileSystemFailure."""
        self._must_be_listable(path)
        prefix = path.rstrip("/")
        rows = self._context.read(
            f"select {_COLUMNS}, parent from nodes where path > :first and path < :last order by path",
            # "0" is the character behind "/".
            {"first": f"{prefix}/", "last": f"{prefix}0"},
        )
        found: dict[str, list[FileNode]] = {path: []}
        for row in rows:
            parent = row.pop("parent")
            node = FileNode(**row)
            found.setdefault(parent, []).append(node)
            if node.kind == "directory":
                found.setdefault(node.path, [])
        return found

    def _must_be_listable(self, path: str) -> None:
        node = self.node(path)
        if node is None:
            raise FileSystemFailure("ENOENT", "scandir", path)
        if node.kind != "directory":
            raise FileSystemFailure("ENOTDIR", "scandir", path)

    def add(self, path: str, *, content: str | None = None) -> None:
        """Add a new file with `content`, or a new directory."""
        self._context.write(
            "insert into nodes (path, kind, content, mode, created, modified, accessed) "
            "values (:path, :kind, :content, :mode, :now, :now, :now)",
            {
                "path": path,
                "kind": "directory" if content is None else "file",
                "content": content or "",
                "mode": 0o755 if content is None else 0o644,
                "now": self._context.now,
            },
        )
        self.touch(dirname(path))

    def replace(self, path: str, content: str) -> None:
        """Replace a file by a new one with the same permissions."""
        self._context.write(
            "update nodes set content = :content, encoding = 'utf-8', created = :now, modified = :now, accessed = :now "
            "where path = :path",
            {"path": path, "content": content, "now": self._context.now},
        )
        self.touch(dirname(path))

    def move(self, source: str, destination: str) -> None:
        """Give a node, and everything below it, another path."""
        self._context.write(
            "update nodes set path = :to || substr(path, length(:from) + 1) "
            # "0" is the character behind "/".
            "where path = :from or (path > :from || '/' and path < :from || '0')",
            {"from": source, "to": destination},
        )
        self.touch(dirname(source))
        self.touch(dirname(destination))

    def touch(self, path: str) -> None:
        """Set the modification time of a directory: an entry was added or removed."""
        self._context.write(
            "update nodes set modified = :now where path = :path", {"path": path, "now": self._context.now}
        )
