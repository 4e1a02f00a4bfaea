"""The files of a machine as one user sees them: paths with links, permissions, a quota, and times from the episode's clock."""

from collections.abc import Iterator
from errno import (
    EACCES,
    EEXIST,
    EFBIG,
    EINVAL,
    EISDIR,
    ELOOP,
    ENAMETOOLONG,
    ENOENT,
    ENOSPC,
    ENOTDIR,
    ENOTEMPTY,
    EPERM,
    EROFS,
)  # fmt: skip
from posixpath import dirname, normpath
from typing import Protocol

from simtrain.worlds.machine.accounts import READ, SEARCH, WRITE, User
from simtrain.worlds.machine.devices import drawn
from simtrain.worlds.machine.disk import Disk
from simtrain.worlds.machine.file_tree import FileTree
from simtrain.worlds.machine.nodes import PROC, TreeNode
from simtrain.worlds.machine.problems import problem

MOST_LINKS = 40
LONGEST_NAME, LONGEST_PATH = 255, 4096
MOST_LEVELS = 128
"""Most parts of a path: commands that walk a tree call themselves for each level."""
STICKY = 0o1000
_SHORT = 60
"""Characters of a name that cannot have more than LONGEST_NAME bytes."""
_DOTS = (".", "..")
_MOST_NOTED = 4096


class Timepiece(Protocol):
    """What tells the time of writing, in Unix seconds."""

    @property
    def moment(self) -> float: ...


class Files:
    """Files as a user sees them. Paths are absolute. All methods raise OSError with glibc's text in `strerror`."""

    __slots__ = ("_plain", "_shape", "_walked", "clock", "disk", "tree", "umask", "user")

    def __init__(self, tree: FileTree, clock: Timepiece, user: User, disk: Disk, *, umask: int = 0o022) -> None:
        self.tree = tree
        self.clock = clock
        self.user = user
        self.disk = disk
        self.umask = umask
        # Directories that the user may enter, on a way without links, as long as the tree has this shape.
        self._walked: set[str] = set()
        self._plain: set[str] = set()
        self._shape = -1

    def real(self, path: str, *, follow: bool = True) -> str:
        """Return a path without links, `.` and `..`. Only its last part may be missing. `follow`: also follow a link at the end."""
        return self._found(path, follow=follow)[0]

    def find(self, path: str, *, follow: bool = True) -> TreeNode | None:
        """Return what is at a path; None if there is nothing, as far as the user may see."""
        try:
            real, found = self._found(path, follow=follow)
        except OSError:
            return None
        if self.tree.watch is not None:
            self.tree.watch.look(real)
        return found

    def _found(self, path: str, *, follow: bool = True) -> tuple[str, TreeNode | None]:
        """Return a path without links, `.` and `..`, and what is there."""
        tree = self.tree
        if self._shape != tree.shape:
            self._walked.clear()
            self._plain.clear()
            self._shape = tree.shape
        if path in self._plain or self._is_plain(path):
            node = tree.get(path)
            if node is None or not follow or node.kind != "link":
                return path, node
        real = self._real(path, path, follow, 0)
        return real, tree.get(real)

    def _is_plain(self, path: str) -> bool:
        """True if a path has no `.`, `..` and links before its last part, and the user may enter all above it; noted in `_plain`."""
        above, _, name = path.rpartition("/")
        if not (0 < len(name) <= _SHORT and name not in _DOTS and (above in self._walked or self._may_enter(above))):
            return False
        if len(self._plain) >= _MOST_NOTED:
            self._plain.clear()
        self._plain.add(path)
        return True

    def _may_enter(self, path: str) -> bool:
        """True if a path and all above it are directories, none of them by a link, that the user may enter; noted in `_walked`."""
        if path.count("/") >= MOST_LEVELS:
            return False
        if path and not self._is_plain(path):
            return False
        node = self.tree.get(path or "/")
        if node is None or node.kind != "directory" or not self.user.may(SEARCH, node):
            return False
        self._walked.add(path)
        return True

    def node(self, path: str, *, follow: bool = True) -> TreeNode:
        """Return what is at a path."""
        real, found = self._found(path, follow=follow)
        if self.tree.watch is not None:
            self.tree.watch.look(real)
        if found is None:
            raise problem(ENOENT, path)
        return found

    def exists(self, path: str, *, follow: bool = True) -> bool:
        """True if something is at a path, as far as the user may see."""
        return self.find(path, follow=follow) is not None

    def is_directory(self, path: str) -> bool:
        """True if a directory is at a path, or a link to one."""
        found = self.find(path)
        return found is not None and found.kind == "directory"

    def may(self, access: int, path: str) -> bool:
        """True if the user may access what is at a path."""
        found = self.find(path)
        return found is not None and self.user.may(access, found)

    def read(self, path: str) -> bytes:
        """Return the content of a file."""
        real, node = self._found(path)
        if self.tree.watch is not None:
            self.tree.watch.look(real)
        if node is None:
            raise problem(ENOENT, path)
        if node.kind == "directory":
            raise problem(EISDIR, path)
        self._need(READ, node, path)
        if self.tree.watch is not None:
            self.tree.watch.read(real)
        return drawn(real, self.tree, self._now) if node.kind == "device" else node.content

    def names(self, path: str) -> list[str]:
        """Return the names in a directory, sorted by their bytes."""
        real, node = self._found(path)
        self._need(READ, _directory(node, path), path)
        if self.tree.watch is not None:
            self.tree.watch.list(real)
        return sorted(self.tree.names(real))

    def walk(self, path: str) -> Iterator[str]:
        """Yield a path and all paths below it, without following links; directories that the user may not read are not entered."""
        yield path
        node = self.node(path, follow=False)
        if node.kind == "directory" and self.user.may(READ | SEARCH, node):
            for name in self.names(path):
                yield from self.walk(f"{path.rstrip('/')}/{name}")

    def write(self, path: str, content: bytes, *, mode: int = 0o666, grows: bool = False) -> None:
        """Write a whole file. A new one gets `mode` without the bits of the umask, and belongs to the user.

        `grows` says that the content is meant to be added to what may be there.
        """
        real, before = self._found(path)
        if self.tree.watch is not None:
            self.tree.watch.write(real)
        if before is None:
            self._may_change(real, before, path)
            new = TreeNode("file", mode & ~self.umask, self.user.name, self.user.group, self._now, content)
            self._put(real, before, new, path, grows=grows)
            return
        if before.kind == "directory":
            raise problem(EISDIR, path)
        self._need(WRITE, before, path)
        if before.kind == "device":
            if real == "/dev/full" and content:
                raise problem(ENOSPC, path)
            return
        self._put(real, before, before._replace(content=content, claimed=0, modified=self._now), path)

    def append(self, path: str, content: bytes) -> None:
        """Add to a file, which is made if there is none."""
        real, before = self._found(path)
        if before is None or before.kind != "file":
            self.write(path, content, grows=True)
            return
        if self.tree.watch is not None:
            self.tree.watch.write(real)
        self._need(WRITE, before, path)
        claimed = before.claimed + len(content) if before.claimed > len(before.content) else 0
        after = before._replace(content=before.content + content, claimed=claimed, modified=self._now)
        self._put(real, before, after, path, grows=True)

    def make_directory(self, path: str, *, parents: bool = False, mode: int = 0o777) -> None:
        """Make a directory; with `parents` also those on the way, and it is no error if there is one already."""
        if parents:
            missing: list[str] = []
            at = normpath(path)
            while (found := self.find(at)) is None:
                missing.append(at)
                at = dirname(at)
            if found.kind != "directory":
                raise problem(ENOTDIR if missing else EEXIST, path)
            for each in reversed(missing):
                self.make_directory(each, mode=mode)
            return
        real, before = self._found(path)
        self._is_read(real)
        if before is not None:
            raise problem(EEXIST, path)
        self._may_change(real, before, path)
        new = TreeNode("directory", mode & ~self.umask, self.user.name, self.user.group, self._now)
        self._put(real, before, new, path)

    def link(self, target: str, path: str) -> None:
        """Make a symbolic link at a path."""
        real, before = self._found(path, follow=False)
        self._is_read(real)
        if before is not None:
            raise problem(EEXIST, path)
        self._may_change(real, before, path)
        new = TreeNode("link", 0o777, self.user.name, self.user.group, self._now, target=target)
        self._put(real, before, new, path)

    def read_link(self, path: str) -> str:
        """Return the target of a symbolic link."""
        node = self.node(path, follow=False)
        if node.kind != "link":
            raise problem(EINVAL, path)
        return node.target

    def remove(self, path: str, *, recursive: bool = False) -> None:
        """Remove a file, a link or a directory, which must be empty unless `recursive`."""
        real, node = self._found(path, follow=False)
        self._is_read(real)
        if node is None:
            raise problem(ENOENT, path)
        self._may_change(real, node, path)
        names = sorted(self.tree.names(real)) if node.kind == "directory" else []
        if node.kind == "directory" and self.tree.watch is not None:
            self.tree.watch.list(real)
        if names and not recursive:
            raise problem(ENOTEMPTY, path)
        for name in names:
            self.remove(f"{real}/{name}", recursive=True)
        self.tree.drop(real)

    def rename(self, path: str, to: str) -> None:
        """Move what is at a path; a file or an empty directory in its new place is replaced."""
        old, node = self._found(path, follow=False)
        new, there = self._found(to, follow=False)
        self._is_read(old)
        self._is_read(new)
        if node is None:
            raise problem(ENOENT, path)
        if old == new:
            return
        if f"{new}/".startswith(f"{old}/"):
            raise problem(EINVAL, to)
        self._may_change(old, node, path)
        self._may_change(new, there, to)
        if there is not None:
            if there.kind == "directory" and node.kind != "directory":
                raise problem(EISDIR, to)
            if there.kind != "directory" and node.kind == "directory":
                raise problem(ENOTDIR, to)
            self.remove(new)
        moved = list(self.tree.below(old))
        for each in moved:
            found = self.tree.get(each)
            if found is not None:
                self.tree.put(new + each[len(old) :], found)
        for each in reversed(moved):
            self.tree.drop(each)

    def copy(self, path: str, to: str) -> None:
        """Copy one file: a new one takes over the permissions, one that is there already keeps its own."""
        self.write(to, self.read(path), mode=self.node(path).mode)

    def change_mode(self, path: str, mode: int) -> None:
        """Set the permission bits, as chmod does."""
        real, node = self._own(path, follow=True)
        self._put(real, node, node._replace(mode=mode), path)

    def change_owner(
        self, path: str, *, owner: str | None = None, group: str | None = None, follow: bool = True
    ) -> None:
        """Set owner or group, as chown does: root may set both, an owner a group of their own."""
        real, node = self._own(path, follow=follow)
        foreign = owner not in (None, node.owner) or (group is not None and group not in self.user.groups)
        if foreign and self.user.uid != 0:
            raise problem(EPERM, path)
        self._put(real, node, node._replace(owner=owner or node.owner, group=group or node.group), path)

    def set_time(self, path: str, modified: float, *, follow: bool = True) -> None:
        """Set the time of the last change, in Unix seconds, as touch does."""
        real = self.real(path, follow=follow)
        node = self.node(path, follow=follow)
        if self.user.name != node.owner:
            self._need(WRITE, node, path)
        self._put(real, node, node._replace(modified=modified), path)

    @property
    def free(self) -> int:
        """Return the bytes left on the disk."""
        return max(0, self.disk.size - self.tree.used)

    @property
    def _now(self) -> float:
        return self.clock.moment

    def _real(self, path: str, asked: str, follow: bool, links: int) -> str:
        if len(path) > LONGEST_PATH:
            raise problem(ENAMETOOLONG, asked)
        if not path:
            raise problem(ENOENT, asked)
        at = ""
        parts = [part for part in path.split("/") if part not in ("", ".")]
        if len(parts) > MOST_LEVELS:
            raise problem(ENAMETOOLONG, asked)
        for index, part in enumerate(parts):
            here = self.tree.get(at or "/")
            if here is None or here.kind != "directory" or not self.user.may(SEARCH, here):
                self._is_read(at or "/")
                raise problem(ENOENT if here is None else ENOTDIR if here.kind != "directory" else EACCES, asked)
            if part == "..":
                at = dirname(at) if at.count("/") > 1 else ""
                continue
            if len(part.encode("utf-8", "surrogateescape")) > LONGEST_NAME:
                raise problem(ENAMETOOLONG, asked)
            next_ = f"{at}/{part}"
            node = self.tree.get(next_)
            if node is not None and node.kind == "link" and (follow or index < len(parts) - 1 or path.endswith("/.")):
                if links >= MOST_LINKS:
                    raise problem(ELOOP, asked)
                target = node.target if node.target.startswith("/") else f"{at}/{node.target}"
                return self._real("/".join([target, *parts[index + 1 :]]), asked, follow, links + 1)
            at = next_
        return at or "/"

    def _need(self, access: int, node: TreeNode, path: str) -> None:
        if not self.user.may(access, node):
            raise problem(EACCES, path)

    def _is_read(self, real: str) -> None:
        """Tell who watches that what is at a path matters."""
        if self.tree.watch is not None:
            self.tree.watch.read(real)

    def _own(self, path: str, *, follow: bool) -> tuple[str, TreeNode]:
        real, node = self.real(path, follow=follow), self.node(path, follow=follow)
        if self.user.uid != 0 and self.user.name != node.owner:
            raise problem(EPERM, path)
        return real, node

    def _may_change(self, real: str, node: TreeNode | None, path: str) -> None:
        """Raise OSError unless the user may make the name of a path, or replace or remove the node there."""
        if real == "/" or real.startswith(PROC):
            raise problem(EACCES, path)
        above = _directory(self.tree.get(real[: real.rindex("/")] or "/"), path)
        self._need(WRITE | SEARCH, above, path)
        foreign = node is not None and self.user.name not in (node.owner, above.owner)
        if foreign and above.mode & STICKY and self.user.uid != 0:
            # In /tmp everybody may make files, but only owners may remove theirs.
            raise problem(EPERM, path)
        if self.disk.is_locked(real):
            raise problem(EROFS, path)

    def _put(self, real: str, before: TreeNode | None, node: TreeNode, path: str, *, grows: bool = False) -> None:
        if self.disk.is_locked(real):
            raise problem(EROFS, path)
        if len(node.content) > self.disk.largest_file:
            raise problem(EFBIG, path)
        more = node.size - (0 if before is None else before.size)
        if more > 0 and more > self.free:
            raise problem(ENOSPC, path)
        self.tree.set(real, before, node, more=more, grows=grows)


def _directory(node: TreeNode | None, path: str) -> TreeNode:
    if node is None:
        raise problem(ENOENT, path)
    if node.kind != "directory":
        raise problem(ENOTDIR, path)
    return node
