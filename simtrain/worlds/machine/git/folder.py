"""A repository in a `.git` folder of the machine, in git's own formats (git's Documentation/gitrepository-layout)."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

from simtrain.values.types import JsonObject
from simtrain.worlds.handlers.git.objects import (
    EMPTY_TREE,
    FOLDER,
    NOTHING,
    Commit,
    Kind,
    Signature,
    Tag,
    TreeEntry,
    folders_of,
    in_order,
    object_id,
)  # fmt: skip
from simtrain.worlds.handlers.git.repository import SYMBOLIC, Repository, by_path
from simtrain.worlds.machine.accounts import READ, SEARCH
from simtrain.worlds.machine.files import Files
from simtrain.worlds.machine.git.config import changed_config, settings_of
from simtrain.worlds.machine.git.index_file import Stages, decoded, encoded
from simtrain.worlds.machine.git.object_file import object_file, read_object
from simtrain.worlds.machine.nodes import TreeNode

NO_TIME = "1970-01-01T00:00:00+00:00"
_FOLDERS = (
    "", "/objects", "/objects/info", "/objects/pack", "/refs", "/refs/heads", "/refs/tags", "/hooks", "/info", "/branches",
)  # fmt: skip
_DESCRIPTION = "Unnamed repository; edit this file 'description' to name the repository.\n"
_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n"


def _nobody() -> Signature:
    return Signature("", "", NO_TIME)


@lru_cache(maxsize=1024)
def signed(text: str) -> Signature:
    """Return the person and time of git's form `Name <mail> 1925280000 +0100`."""
    who, _, when = text.rpartition("> ")
    name, _, mail = who.rpartition(" <") if " <" in who else ("", "", who.lstrip("<"))
    seconds, _, offset = when.partition(" ")
    return Signature(name, mail, moment(int(seconds), offset))


def moment(seconds: int, offset: str) -> str:
    """Return a Unix time with an offset such as +0100 as ISO 8601."""
    minutes = int(offset[1:3]) * 60 + int(offset[3:5])
    zone = timezone(timedelta(minutes=-minutes if offset.startswith("-") else minutes)) if minutes else UTC
    return datetime.fromtimestamp(seconds, zone).isoformat()


def _fields(head: str) -> list[tuple[str, str]]:
    """Return the lines of an object's head as names and values."""
    return [(name, value) for name, _, value in (line.partition(" ") for line in head.split("\n"))]


class FolderRepository(Repository):
    """A repository whose working tree is at `path`. `bare` ones have no working tree."""

    def __init__(self, files: Files, path: str, *, folder: str | None = None) -> None:
        super().__init__(path)
        self.disk = files
        self.folder = folder or f"{path.rstrip('/')}/.git"
        self._known: dict[str, tuple[Kind, bytes]] = {}
        self._commits: dict[str, Commit] = {}
        # Each with the node that it was read from, which every write replaces.
        self._texts: dict[str, tuple[TreeNode, str]] = {}
        self._stages: tuple[TreeNode, Stages] | None = None
        # The working directory of the call, which git leaves even if it is empty.
        self.stays = ""
        self._ask: Callable[[], Signature] = _nobody
        self._by: Signature | None = None

    @property
    def by(self) -> Signature:
        """Return who changes refs, and when."""
        if self._by is None:
            self._by = self._ask()
        return self._by

    def signed_by(self, by: Callable[[], Signature]) -> None:
        """Set what tells who changes refs, which is asked where something notes it."""
        self._ask, self._by = by, None

    # Files of the folder.

    def text(self, name: str) -> str | None:
        """Return the text of a file below `.git`; None if it is missing."""
        path = f"{self.folder}/{name}"
        node = self.disk.find(path)
        if node is None or node.kind == "directory":
            return None
        held = self._texts.get(name)
        if held is None or held[0] is not node:
            held = self._texts[name] = node, self.disk.read(path).decode("utf-8", "surrogateescape")
        return held[1]

    def put_text(self, name: str, text: str) -> None:
        """Write a file below `.git`."""
        path = f"{self.folder}/{name}"
        above = path.rpartition("/")[0]
        if not self.disk.exists(above):
            self.disk.make_directory(above, parents=True)
        self.disk.write(path, text.encode("utf-8", "surrogateescape"))

    def drop(self, name: str) -> None:
        """Remove a file below `.git`, if it is there."""
        path = f"{self.folder}/{name}"
        if self.disk.exists(path, follow=False):
            self.disk.remove(path, recursive=True)

    def begin(self, *, head: str, name: str, mail: str) -> None:
        for folder in _FOLDERS:
            if not self.disk.is_directory(f"{self.folder}{folder}"):
                self.disk.make_directory(f"{self.folder}{folder}", parents=not folder)
        self.put_text("HEAD", f"{SYMBOLIC}{head}\n")
        self.put_text("description", _DESCRIPTION)
        self.put_text("config", _CONFIG)
        self.put_text("info/exclude", "# git ls-files --others --exclude-from=.git/info/exclude\n")
        if name:
            self.configure("user.name", name)
            self.configure("user.email", mail)
            self.signed_by(lambda: Signature(name, mail, NO_TIME))

    def configure(self, key: str, value: str | None) -> None:
        """Set a key of the repository's configuration; None removes it."""
        self.put_text("config", changed_config(self.text("config") or "", key, value))

    def setting(self, key: str) -> str | None:
        """Return the last value of a key of the repository's own configuration."""
        return settings_of(self.text("config") or "").get(key)

    # Objects.

    def _object(self, sha: str) -> tuple[Kind, bytes] | None:
        if sha not in self._known:
            path = f"{self.folder}/objects/{sha[:2]}/{sha[2:]}"
            if len(sha) != 40 or not self.disk.exists(path):
                return ("tree", b"") if sha == EMPTY_TREE else None
            self._known[sha] = read_object(self.disk.read(path))
        return self._known[sha]

    def content(self, sha: str) -> bytes:
        """Return what an existing object holds, without its header."""
        found = self._object(sha)
        if found is None:
            raise KeyError(sha)
        return found[1]

    def keep(self, kind: Kind, content: bytes) -> str:
        """Store an object, and return its id."""
        sha = object_id(kind, content)
        folder = f"{self.folder}/objects/{sha[:2]}"
        path = f"{folder}/{sha[2:]}"
        begun = self.disk.exists(folder)
        if not begun:
            self.disk.make_directory(folder, parents=True)
        if not begun or not self.disk.exists(path):
            self.disk.write(path, object_file(kind, content), mode=0o444)
        self._known[sha] = (kind, content)
        return sha

    def kind(self, sha: str) -> Kind | None:
        found = self._object(sha)
        return found[0] if found else None

    def with_prefix(self, prefix: str) -> list[str]:
        folder = f"{self.folder}/objects/{prefix[:2]}"
        if not self.disk.is_directory(folder):
            return []
        return [prefix[:2] + name for name in self.disk.names(folder) if (prefix[:2] + name).startswith(prefix)]

    def commit(self, sha: str) -> Commit:
        if sha not in self._commits:
            head, _, message = self.content(sha).decode("utf-8", "surrogateescape").partition("\n\n")
            fields = _fields(head)
            parents = tuple(value for name, value in fields if name == "parent")
            first = dict(reversed(fields))
            self._commits[sha] = Commit(
                first["tree"], parents, signed(first["author"]), signed(first["committer"]), message
            )
        return self._commits[sha]

    def tag(self, sha: str) -> str:
        return self.content(sha).decode().partition("\n")[0].removeprefix("object ")

    def tag_text(self, sha: str) -> Tag:
        """Return an annotated tag."""
        head, _, message = self.content(sha).decode("utf-8", "surrogateescape").partition("\n\n")
        fields = dict(_fields(head))
        return Tag(fields["object"], fields["tag"], signed(fields["tagger"]), message)

    def tree(self, sha: str) -> dict[str, TreeEntry]:
        content, found, place = self.content(sha), dict[str, TreeEntry](), 0
        while place < len(content):
            end = content.index(b"\0", place)
            mode, _, name = content[place:end].decode("utf-8", "surrogateescape").partition(" ")
            found[name] = TreeEntry(mode, content[end + 1 : end + 21].hex())
            place = end + 21
        return found

    def blob(self, sha: str) -> bytes:
        return self.content(sha)

    def keep_blob(self, content: bytes) -> str:
        return self.keep("blob", content)

    def keep_tree(self, files: Mapping[str, TreeEntry]) -> str:
        root, folders = folders_of(files)
        for entries in folders.values():
            self.keep(
                "tree",
                b"".join(
                    b"%s %s\0%s"
                    % (entry.mode.encode(), name.encode("utf-8", "surrogateescape"), bytes.fromhex(entry.sha))
                    for name, entry in in_order(entries.items())
                ),
            )
        return root

    def keep_commit(self, commit: Commit) -> str:
        lines = [f"tree {commit.tree}", *(f"parent {parent}" for parent in commit.parents)]
        lines += [f"author {commit.author.encode()}", f"committer {commit.committer.encode()}", "", commit.message]
        return self.keep("commit", "\n".join(lines).encode("utf-8", "surrogateescape"))

    def keep_tag(self, tag: Tag) -> str:
        lines = [
            f"object {tag.target}",
            "type commit",
            f"tag {tag.name}",
            f"tagger {tag.tagger.encode()}",
            "",
            tag.message,
        ]
        return self.keep("tag", "\n".join(lines).encode("utf-8", "surrogateescape"))

    # Refs.

    @property
    def head(self) -> str:
        return (self.text("HEAD") or "").strip().removeprefix(SYMBOLIC)

    @property
    def user(self) -> tuple[str, str]:
        return self.setting("user.name") or "", self.setting("user.email") or ""

    def refs(self, below: str = "refs/") -> dict[str, str]:
        """Return all refs by full name, sorted, or those below a folder; a symbolic one holds `ref: NAME`."""
        top = f"{self.folder}/{below.rstrip('/')}"
        found: dict[str, str] = {}
        if self.disk.exists(top):
            self._collect_refs(top, found)
        return dict(sorted(found.items(), key=lambda item: item[0].encode()))

    def _collect_refs(self, folder: str, found: dict[str, str]) -> None:
        for name in self.disk.names(folder):
            path = f"{folder}/{name}"
            if not self.disk.is_directory(path):
                found[path[len(self.folder) + 1 :]] = self.disk.read(path).decode().strip()
            elif self.disk.may(READ | SEARCH, path):
                self._collect_refs(path, found)

    def target(self, name: str) -> str | None:
        text = self.text(name) if name.startswith("refs/") else None
        return text.strip() if text else None

    def upstream(self, name: str) -> str | None:
        short = name.removeprefix("refs/heads/")
        remote, merge = self.setting(f"branch.{short}.remote"), self.setting(f"branch.{short}.merge")
        if not remote or not merge:
            return None
        return merge if remote == "." else f"refs/remotes/{remote}/{merge.removeprefix('refs/heads/')}"

    def set_upstream(self, name: str, upstream: str) -> None:
        short = name.removeprefix("refs/heads/")
        remote, _, branch = upstream.removeprefix("refs/remotes/").partition("/")
        self.configure(f"branch.{short}.remote", remote)
        self.configure(f"branch.{short}.merge", f"refs/heads/{branch}")

    def set_ref(self, name: str, sha: str) -> None:
        self.put_text(name, f"{sha}\n")

    def remove_ref(self, name: str) -> None:
        """Remove a ref, its log, and folders that are empty then."""
        for place in (name, f"logs/{name}"):
            self.drop(place)
            above = place.rpartition("/")[0]
            while above.count("/") > (2 if above.startswith("logs") else 1):
                path = f"{self.folder}/{above}"
                if not self.disk.exists(path) or self.disk.names(path):
                    break
                self.disk.remove(path)
                above = above.rpartition("/")[0]

    def set_head(self, value: str) -> None:
        self.put_text("HEAD", f"{SYMBOLIC}{value}\n" if value.startswith("refs/") else f"{value}\n")

    def log(self, ref: str) -> list[JsonObject]:
        found: list[JsonObject] = []
        for line in (self.text(f"logs/{ref}") or "").splitlines():
            head, _, message = line.partition("\t")
            found.append({"old": head[:40], "new": head[41:81], "message": message, "by": head[82:]})
        return list(reversed(found))

    def note(self, ref: str, *, old: str, new: str, message: str, at: str) -> None:
        who = Signature(self.by.name, self.by.email, at)
        line = f"{old or NOTHING} {new} {who.encode()}\t{message}\n"
        self.put_text(f"logs/{ref}", (self.text(f"logs/{ref}") or "") + line)

    # Index and working tree.

    def stages(self) -> dict[tuple[str, int], TreeEntry]:
        """Return all entries of the index, conflicts included."""
        path = f"{self.folder}/index"
        node = self.disk.find(path)
        if node is None:
            return {}
        if self._stages is None or self._stages[0] is not node:
            self._stages = node, decoded(self.disk.read(path))
        return dict(self._stages[1])

    def put_stages(self, entries: Mapping[tuple[str, int], TreeEntry]) -> None:
        """Write the index."""
        self.disk.write(f"{self.folder}/index", encoded(entries))

    def conflicts(self) -> dict[str, dict[int, TreeEntry]]:
        """Return the paths in conflict, each with its entries by stage."""
        found: dict[str, dict[int, TreeEntry]] = {}
        for (path, stage), entry in self.stages().items():
            if stage:
                found.setdefault(path, {})[stage] = entry
        return found

    def index(self) -> dict[str, TreeEntry]:
        return by_path({path: entry for (path, stage), entry in self.stages().items() if stage == 0})

    def stage(self, changes: Mapping[str, TreeEntry | None]) -> None:
        entries = {key: entry for key, entry in self.stages().items() if key[0] not in changes}
        entries |= {(path, 0): entry for path, entry in changes.items() if entry is not None}
        self.put_stages(entries)

    def worktree(self) -> dict[str, tuple[str, bytes]]:
        found: dict[str, tuple[str, bytes]] = {}
        self._collect(self.path, "", found)
        return by_path(found)

    def _collect(self, folder: str, prefix: str, found: dict[str, tuple[str, bytes]]) -> None:
        for name in self.disk.names(folder):
            path = f"{folder.rstrip('/')}/{name}"
            node = self.disk.node(path, follow=False)
            if name == ".git":
                continue
            if node.kind == "directory":
                self._collect(path, f"{prefix}{name}/", found)
            elif node.kind == "link":
                found[prefix + name] = ("120000", node.target.encode("utf-8", "surrogateescape"))
            elif node.kind == "file":
                found[prefix + name] = ("100755" if node.mode & 0o100 else "100644", node.content)

    def put_files(self, changes: Mapping[str, TreeEntry | None]) -> None:
        for path, entry in changes.items():
            if entry is None:
                self._remove(path)
            elif entry.mode != FOLDER:
                self.put_file(path, entry.mode, self.blob(entry.sha))

    def _remove(self, path: str) -> None:
        full = f"{self.path.rstrip('/')}/{path}"
        if not self.disk.exists(full, follow=False):
            return
        self.disk.remove(full)
        above = full.rpartition("/")[0]
        while above not in (self.path, self.stays) and not self.disk.names(above):
            self.disk.remove(above)
            above = above.rpartition("/")[0]

    def put_file(self, path: str, mode: str, content: bytes) -> None:
        full = f"{self.path.rstrip('/')}/{path}"
        above = full.rpartition("/")[0]
        if not self.disk.exists(above):
            self.disk.make_directory(above, parents=True)
        if mode == "120000":
            if self.disk.exists(full, follow=False):
                self.disk.remove(full)
            self.disk.link(content.decode("utf-8", "surrogateescape"), full)
            return
        if self.disk.exists(full, follow=False) and self.disk.node(full, follow=False).kind == "link":
            self.disk.remove(full)
        self.disk.write(full, content)
        before = self.disk.node(full).mode
        after = before | 0o111 & ~self.disk.umask if mode == "100755" else before & ~0o111
        if after != before:
            self.disk.change_mode(full, after)
