"""Write a repository of a git world to disk in git's own format: loose objects, refs, reflogs, the index and the working tree."""

import struct
import zlib
from base64 import b64decode
from collections.abc import Iterator
from datetime import datetime
from hashlib import sha1
from pathlib import Path

from simtrain.contracts.world import World
from simtrain.values.types import JsonObject, JsonValue


def write_repository(world: World, path: str, folder: Path) -> None:
    """Write the world's repository at `path` into a new folder."""
    _Writing(world, path, folder).write()


class _Writing:
    def __init__(self, world: World, path: str, folder: Path) -> None:
        self._world = world
        self._path = path
        self._folder = folder
        self._git = folder / ".git"

    def _rows(self, table: str, order: str) -> list[JsonObject]:
        values: dict[str, JsonValue] = {"path": self._path}
        return self._world.query(f"select * from {table} where repository = :path order by {order}", values)

    def write(self) -> None:
        about = self._world.query("select * from repositories where path = :path", {"path": self._path})[0]
        for name in ("objects", "refs/heads", "refs/tags"):
            (self._git / name).mkdir(parents=True)
        for kind, content in self._objects():
            self._object(kind, content)
        head = about["head"]
        (self._git / "HEAD").write_text(f"ref: {head}\n" if head.startswith("refs/") else f"{head}\n")
        refs = self._rows("refs", "name")
        for ref in refs:
            self._file(ref["name"], f"{ref['target']}\n".encode())
        self._file("config", _config(about, refs).encode())
        self._logs(about)
        self._file("index", self._index())
        for file in self._rows("worktree", "path"):
            self._lay(file)

    def _file(self, name: str, content: bytes) -> None:
        place = self._git / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)

    def _object(self, kind: str, content: bytes) -> None:
        whole = f"{kind} {len(content)}\0".encode() + content
        # Git's object ids are SHA-1 by format; nothing here relies on its strength.
        sha = sha1(whole, usedforsecurity=False).hexdigest()
        self._file(f"objects/{sha[:2]}/{sha[2:]}", zlib.compress(whole, 1))

    def _objects(self) -> Iterator[tuple[str, bytes]]:
        for blob in self._rows("blobs", "sha"):
            yield "blob", _content(blob)
        trees: dict[str, list[JsonObject]] = {}
        for entry in self._rows("trees", "sha, name"):
            trees.setdefault(entry["sha"], []).append(entry)
        for entries in trees.values():
            # Git sorts a directory as if its name ended in a slash.
            entries.sort(key=lambda entry: f"{entry['name']}{'/' if entry['mode'] == '40000' else ''}".encode())
            yield (
                "tree",
                b"".join(
                    f"{entry['mode']} {entry['name']}\0".encode() + bytes.fromhex(entry["entry"]) for entry in entries
                ),
            )
        for commit in self._rows("commits", "sha"):
            parents = self._world.query("select value from json_each(:parents)", {"parents": commit["parents"]})
            lines = [f"tree {commit['tree']}", *(f"parent {parent['value']}" for parent in parents)]
            lines.append(f"author {_signed(commit['author'], commit['author_email'], commit['authored_at'])}")
            lines.append(f"committer {_signed(commit['committer'], commit['committer_email'], commit['committed_at'])}")
            yield "commit", "\n".join([*lines, "", commit["message"]]).encode()
        for tag in self._rows("tags", "sha"):
            lines = [f"object {tag['target']}", "type commit", f"tag {tag['name']}"]
            lines.append(f"tagger {_signed(tag['tagger'], tag['email'], tag['at'])}")
            yield "tag", "\n".join([*lines, "", tag["message"]]).encode()

    def _logs(self, about: JsonObject) -> None:
        logs: dict[str, list[str]] = {}
        for entry in self._rows("reflog", "ref, number"):
            who = _signed(about["user_name"], about["user_email"], entry["at"])
            logs.setdefault(entry["ref"], []).append(f"{entry['old']} {entry['new']} {who}\t{entry['message']}\n")
        for ref, lines in logs.items():
            self._file(f"logs/{ref}", "".join(lines).encode())

    def _index(self) -> bytes:
        """Return the index in git's format 2 (`git help index-format`), without the stat data of the files on disk."""
        entries = sorted(self._rows("staging", "path"), key=lambda entry: str(entry["path"]).encode())
        parts = [struct.pack(">4sII", b"DIRC", 2, len(entries))]
        for entry in entries:
            name = str(entry["path"]).encode()
            # With zero stat data git compares contents, so the index fits any file on disk.
            fixed = struct.pack(">6I", 0, 0, 0, 0, 0, 0) + struct.pack(">4I", int(entry["mode"], 8), 0, 0, 0)
            whole = fixed + bytes.fromhex(entry["sha"]) + struct.pack(">H", min(len(name), 0xFFF)) + name
            parts.append(whole + b"\0" * (8 - len(whole) % 8))
        content = b"".join(parts)
        return content + sha1(content, usedforsecurity=False).digest()

    def _lay(self, file: JsonObject) -> None:
        place = self._folder / file["path"]
        place.parent.mkdir(parents=True, exist_ok=True)
        if file["mode"] == "120000":
            place.symlink_to(_content(file).decode())
            return
        place.write_bytes(_content(file))
        place.chmod(0o755 if file["mode"] == "100755" else 0o644)


def _content(row: JsonObject) -> bytes:
    return b64decode(row["content"]) if row["encoding"] == "base64" else str(row["content"]).encode()


def _signed(name: JsonValue, email: JsonValue, at: JsonValue) -> str:
    moment = datetime.fromisoformat(str(at))
    return f"{name} <{email}> {int(moment.timestamp())} {moment:%z}"


def _config(about: JsonObject, refs: list[JsonObject]) -> str:
    lines = [
        "[core]",
        "\trepositoryformatversion = 0",
        "\tfilemode = true",
        "\tbare = false",
        "\tlogallrefupdates = true",
    ]
    lines += ["[user]", f"\tname = {about['user_name']}", f"\temail = {about['user_email']}"]
    if any(ref["name"].startswith("refs/remotes/") for ref in refs):
        lines += ['[remote "origin"]', "\turl = /nowhere", "\tfetch = +refs/heads/*:refs/remotes/origin/*"]
    for ref in refs:
        if ref["upstream"] is not None:
            name, follows = (
                ref["name"].removeprefix("refs/heads/"),
                ref["upstream"].removeprefix("refs/remotes/origin/"),
            )
            lines += [f'[branch "{name}"]', "\tremote = origin", f"\tmerge = refs/heads/{follows}"]
    return "\n".join(lines) + "\n"
