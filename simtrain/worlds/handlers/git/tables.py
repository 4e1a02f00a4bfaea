"""A repository whose objects, refs, index and working tree are rows of a world's tables."""

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping

from simtrain.contracts.handler import HandlerContext
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.handlers.git.objects import (
    EMPTY_TREE,
    Commit,
    Kind,
    Signature,
    Tag,
    TreeEntry,
    blob_id,
    folders_of,
    in_order,
)
from simtrain.worlds.handlers.git.repository import Repository, by_path

_KINDS: tuple[tuple[Kind, str], ...] = (("commit", "commits"), ("tree", "trees"), ("blob", "blobs"), ("tag", "tags"))


class TableRepository(Repository):
    """A repository of the world, by its path."""

    def __init__(self, context: HandlerContext, path: str) -> None:
        super().__init__(path)
        self._context = context
        self._commits: dict[str, Commit] = {}

    def _read(self, sql: str, **values: JsonValue) -> list[JsonObject]:
        return self._context.read(sql, {"repository": self.path, **values})

    def _write(self, sql: str, **values: JsonValue) -> None:
        self._context.write(sql, {"repository": self.path, **values})

    def _insert(self, table: str, **values: JsonValue) -> None:
        """Add a row unless it exists: objects are named by their content, so an old row is the same."""
        names = ("repository", *values)
        marks = ", ".join(f":{name}" for name in names)
        self._write(f"insert or ignore into {table} ({', '.join(names)}) values ({marks})", **values)

    def begin(self, *, head: str, name: str, mail: str) -> None:
        """Make the repository, with HEAD at a branch, and with the person who commits in it."""
        sql = "insert into repositories (path, head, user_name, user_email) values (:repository, :head, :name, :mail)"
        self._write(sql, head=head, name=name, mail=mail)

    # Objects.

    def kind(self, sha: str) -> Kind | None:
        """Return the kind of the object with an id; None if no such object exists."""
        for kind, table in _KINDS:
            if self._read(f"select 1 from {table} where repository = :repository and sha = :sha limit 1", sha=sha):
                return kind
        return "tree" if sha == EMPTY_TREE else None

    def with_prefix(self, prefix: str) -> list[str]:
        """Return the ids that begin with `prefix` (small hexadecimal digits), sorted."""
        tables = " union ".join(
            f"select sha from {table} where repository = :repository and sha >= :first and sha < :last"
            for _, table in _KINDS
        )
        # "g" sorts after every hexadecimal digit, so the range is all ids with the prefix, and an index serves it.
        return [row["sha"] for row in self._read(f"{tables} order by sha", first=prefix, last=prefix + "g")]

    def commit(self, sha: str) -> Commit:
        """Return an existing commit."""
        # All at once: a walk reads nearly every commit, and would send a query for each.
        if not self._commits:
            for row in self._read("select * from commits where repository = :repository"):
                self._commits[row["sha"]] = _commit(row)
        return self._commits[sha]

    def tag(self, sha: str) -> str:
        """Return the commit that an annotated tag points to."""
        return self._read("select target from tags where repository = :repository and sha = :sha", sha=sha)[0]["target"]

    def tree(self, sha: str) -> dict[str, TreeEntry]:
        """Return the entries of one folder, in git's order."""
        rows = self._read("select name, mode, entry from trees where repository = :repository and sha = :sha", sha=sha)
        return dict(in_order((row["name"], TreeEntry(row["mode"], row["entry"])) for row in rows))

    def blob(self, sha: str) -> bytes:
        """Return the content of an existing blob."""
        row = self._read("select content, encoding from blobs where repository = :repository and sha = :sha", sha=sha)
        return _decoded(row[0])

    def keep_blob(self, content: bytes) -> str:
        """Store a file's content, and return its id."""
        sha = blob_id(content)
        self._insert("blobs", sha=sha, **_encoded(content))
        return sha

    def keep_tree(self, files: Mapping[str, TreeEntry]) -> str:
        """Store the trees that hold these files, and return the id of the root."""
        root, folders = folders_of(files)
        for sha, entries in folders.items():
            for name, entry in entries.items():
                self._insert("trees", sha=sha, name=name, mode=entry.mode, entry=entry.sha)
        return root

    def keep_commit(self, commit: Commit) -> str:
        """Store a commit, and return its id."""
        author, committer = commit.author, commit.committer
        by: JsonObject = {"author": author.name, "author_email": author.email, "authored_at": author.at}
        by |= {"committer": committer.name, "committer_email": committer.email, "committed_at": committer.at}
        parents = json.dumps(commit.parents)
        self._insert("commits", sha=commit.sha, tree=commit.tree, parents=parents, **by, message=commit.message)
        self._commits = {}
        return commit.sha

    def keep_tag(self, tag: Tag) -> str:
        """Store an annotated tag, and return its id."""
        who: JsonObject = {"tagger": tag.tagger.name, "email": tag.tagger.email, "at": tag.tagger.at}
        self._insert("tags", sha=tag.sha, target=tag.target, name=tag.name, **who, message=tag.message)
        return tag.sha

    # Refs.

    @property
    def head(self) -> str:
        """The content of HEAD: the full name of a branch, or the id of a commit."""
        return self._read("select head from repositories where path = :repository")[0]["head"]

    @property
    def user(self) -> tuple[str, str]:
        """The name and mail address of the committer."""
        row = self._read("select user_name, user_email from repositories where path = :repository")[0]
        return row["user_name"], row["user_email"]

    def refs(self) -> dict[str, str]:
        """Return all refs by full name, sorted; a symbolic one holds `ref: NAME`."""
        rows = self._read("select name, target from refs where repository = :repository")
        return {row["name"]: row["target"] for row in sorted(rows, key=lambda row: row["name"].encode())}

    def target(self, name: str) -> str | None:
        """Return what a ref holds: an id, or `ref: NAME`; None if there is no such ref."""
        found = self._read("select target from refs where repository = :repository and name = :name", name=name)
        return found[0]["target"] if found else None

    def upstream(self, name: str) -> str | None:
        """Return the full name of the upstream of a branch; None if it has none."""
        found = self._read("select upstream from refs where repository = :repository and name = :name", name=name)
        return found[0]["upstream"] if found else None

    def set_upstream(self, name: str, upstream: str) -> None:
        """Set the upstream of a branch, both by their full names."""
        sql = "update refs set upstream = :upstream where repository = :repository and name = :name"
        self._write(sql, name=name, upstream=upstream)

    def set_ref(self, name: str, sha: str) -> None:
        """Create or move a ref."""
        sql = "insert into refs (repository, name, target) values (:repository, :name, :sha) on conflict do update set target = :sha"
        self._write(sql, name=name, sha=sha)

    def set_head(self, value: str) -> None:
        """Set HEAD to a branch, or to the id of a commit."""
        self._write("update repositories set head = :head where path = :repository", head=value)

    def log(self, ref: str) -> list[JsonObject]:
        """Return the entries of a ref's log, newest first: `old`, `new`, `message`."""
        return self._read(
            "select old, new, message from reflog where repository = :repository and ref = :ref order by number desc",
            ref=ref,
        )

    def note(self, ref: str, *, old: str, new: str, message: str, at: str) -> None:
        """Add an entry to a ref's log."""
        self._write(
            "insert into reflog select :repository, :ref, coalesce(max(number), 0) + 1, :old, :new, :at, :message "
            "from reflog where repository = :repository and ref = :ref",
            ref=ref,
            old=old,
            new=new,
            at=at,
            message=message,
        )

    # Index and working tree.

    def index(self) -> dict[str, TreeEntry]:
        """Return what is staged, by path, in git's order."""
        rows = self._read("select path, mode, sha from staging where repository = :repository")
        return by_path({row["path"]: TreeEntry(row["mode"], row["sha"]) for row in rows})

    def stage(self, changes: Mapping[str, TreeEntry | None]) -> None:
        """Set entries of the index; None removes one."""
        for path, entry in changes.items():
            if entry is None:
                self._write("delete from staging where repository = :repository and path = :path", path=path)
                continue
            self._write(
                "insert into staging values (:repository, :path, :mode, :sha) on conflict do update set mode = :mode, sha = :sha",
                path=path,
                mode=entry.mode,
                sha=entry.sha,
            )

    def worktree(self) -> dict[str, tuple[str, bytes]]:
        """Return the files of the working tree: mode and content by path, in git's order."""
        rows = self._read("select path, mode, content, encoding from worktree where repository = :repository")
        return by_path({row["path"]: (row["mode"], _decoded(row)) for row in rows})

    def put_files(self, changes: Mapping[str, TreeEntry | None]) -> None:
        """Write files of the working tree as their entries say; None removes one."""
        for path, entry in changes.items():
            # Deleted first, since `put_file` leaves an existing row as it is.
            self._write("delete from worktree where repository = :repository and path = :path", path=path)
            if entry is not None:
                self.put_file(path, entry.mode, self.blob(entry.sha))

    def put_file(self, path: str, mode: str, content: bytes) -> None:
        """Write a new file into the working tree."""
        self._insert("worktree", path=path, mode=mode, **_encoded(content))


def _encoded(content: bytes) -> JsonObject:
    """Return content as cells: UTF-8 as text, so that SQL can read it, else base64."""
    try:
        # SQLite's text functions stop at a NUL.
        if b"\0" not in content:
            return {"content": content.decode(), "encoding": "utf-8"}
    except UnicodeDecodeError:
        pass
    return {"content": b64encode(content).decode(), "encoding": "base64"}


def _decoded(row: JsonObject) -> bytes:
    content = row["content"]
    return b64decode(content) if row["encoding"] == "base64" else content.encode()


def _commit(row: JsonObject) -> Commit:
    return Commit(
        row["tree"],
        tuple(json.loads(row["parents"])),
        Signature(row["author"], row["author_email"], row["authored_at"]),
        Signature(row["committer"], row["committer_email"], row["committed_at"]),
        row["message"],
    )
