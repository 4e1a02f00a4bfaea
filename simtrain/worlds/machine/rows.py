"""Files as rows of the table `files`, and back."""

from base64 import b64decode, b64encode
from collections.abc import Mapping

from simtrain.values.clock import instant, stamp
from simtrain.values.types import JsonObject, JsonValue
from simtrain.worlds.machine.accounts import ROOT, User
from simtrain.worlds.machine.nodes import TreeNode
from simtrain.worlds.service.database import Database, Mode

PUT = """
insert into files (host, path, kind, mode, owner, "group", size, modified, content, base64, target)
values (:host, :path, :kind, :mode, :owner, :group, :size, :modified, :content, :base64, :target)
on conflict (host, path) do update set kind = excluded.kind, mode = excluded.mode, owner = excluded.owner,
  "group" = excluded."group", size = excluded.size, modified = excluded.modified, content = excluded.content,
  base64 = excluded.base64, target = excluded.target
"""
DROP = "delete from files where host = :host and path = :path"
_ALL = (
    """select path, kind, mode, owner, "group", size, modified, content, base64, target from files where host = :host"""
)


def row_of(host: str, path: str, node: TreeNode) -> JsonObject:
    """Return the row of a node. Content that is no text without NUL is kept in base64."""
    text: str | None = None
    coded: str | None = None
    if node.kind == "file":
        try:
            text = node.content.decode()
        except UnicodeDecodeError:
            coded = b64encode(node.content).decode()
        if text is not None and "\0" in text:
            text, coded = None, b64encode(node.content).decode()
    return {
        "host": host,
        "path": path,
        "kind": node.kind,
        "mode": f"{node.mode:04o}",
        "owner": node.owner,
        "group": node.group,
        "size": node.size,
        "modified": stamp(node.modified),
        "content": text,
        "base64": coded,
        "target": node.target or None,
    }


def node_of(row: Mapping[str, JsonValue]) -> TreeNode:
    """Return the node of a row. Raises InputError for a time and ValueError for a mode that cannot be read."""
    content = b64decode(row["base64"]) if row["base64"] else str(row["content"] or "").encode()
    size = int(row["size"]) if row["kind"] == "file" else 0
    return TreeNode(
        row["kind"],
        int(str(row["mode"]), 8),
        str(row["owner"]),
        str(row["group"]),
        instant(row["modified"]),
        content,
        str(row["target"] or ""),
        # An author's SQL may change the content alone: the size then follows.
        size if size > len(content) else 0,
    )


def nodes_of(database: Database, host: str) -> dict[str, TreeNode]:
    """Return all nodes of a machine by path."""
    return {row["path"]: node_of(row) for row in database.rows(_ALL, {"host": host}, mode=Mode.OWN)}


def users_of(database: Database, host: str) -> dict[str, User]:
    """Return the users of a machine by name, by number."""
    groups: dict[str, list[str]] = {}
    for row in database.rows(
        'select user, "group" from memberships where host = :host order by position, rowid',
        {"host": host},
        mode=Mode.OWN,
    ):
        groups.setdefault(row["user"], []).append(row["group"])
    found = {"root": ROOT}
    sql = "select name, uid, home, shell, sudo from users where host = :host order by uid"
    for row in database.rows(sql, {"host": host}, mode=Mode.OWN):
        name = row["name"]
        member = tuple(groups.get(name, [name]))
        found[name] = User(name, row["uid"], row["home"], member, row["shell"], bool(row["sudo"]))
    return found


def groups_of(database: Database, host: str) -> dict[str, int]:
    """Return the numbers of a machine's groups by name."""
    sql = "select name, gid from groups where host = :host order by gid"
    return {row["name"]: row["gid"] for row in database.rows(sql, {"host": host}, mode=Mode.OWN)}
