"""The reference server `filesystem`: the world's nodes become files under a folder."""

import os
import re
from base64 import b64decode
from collections.abc import Mapping, Sequence
from pathlib import Path
from posixpath import dirname, join, normpath
from time import sleep, time
from typing import ClassVar, cast

from simtrain.contracts.world import World
from simtrain.mcp.verify.draw import Draw, Past
from simtrain.mcp.verify.subject import GeneratedCall, Subject
from simtrain.values.clock import instant
from simtrain.values.types import JsonObject, JsonValue

NODES = (
    "select path, kind, content, encoding, target, mode, modified, accessed from nodes where path <> '/' order by path"
)
LATE = 0.4
"""Fraction of a second after which it is too late to start: all initial files must be created in the same second."""
ROOT = "/projects"
OUTSIDE = (
    "/etc/passwd",
    "/srv/scans/old-maps.txt",
    "/projects-old/a.txt",
    "~/notes.txt",
    "~",
    "C:\\notes.txt",
    "/projects/maps",
)


def within(path: str) -> bool:
    """True if a path is the allowed folder or inside it."""
    return path == ROOT or path.startswith(f"{ROOT}/")


def absolute(path: str) -> str:
    """Return a path of a call as the world names it."""
    full = normpath(join(ROOT, path))
    current = f"{ROOT}/current"
    return (
        f"{ROOT}/invoices/2031{full.removeprefix(current)}"
        if full == current or full.startswith(f"{current}/")
        else full
    )


def known(draw: Draw, kind: str) -> str:
    """Return a path that exists."""
    return draw.existing(kind, earlier=0.8)


def new(draw: Draw, name: str) -> str:
    """Return a path below a directory that is there."""
    return join(known(draw, "directory"), name)


def absent(draw: Draw) -> str:
    """Return a path that was moved away, never existed, or is outside."""
    if draw.past.gone("file") and draw.chance(0.5):
        return draw.gone("file")
    return draw.one((new(draw, f"{draw.word()}.missing"), new(draw, "missing/a.txt"), outside(draw)))


def outside(draw: Draw) -> str:
    """Return a path that is not below the allowed folder."""
    return draw.one(OUTSIDE)


def spelled(draw: Draw, path: str) -> str:
    """Return a path, usually unchanged, sometimes in another spelling."""
    if draw.chance(0.75):
        return path
    below = path.removeprefix(f"{ROOT}/") if path != ROOT else "."
    return draw.one(
        (
            below,
            f"./{below}",
            ROOT + path.removeprefix(ROOT).replace("/", "//"),
            f"{path}/",
            f"{ROOT}/handbook/../{below}",
        )
    )


def lines(draw: Draw) -> str:
    """Return a text of up to twelve lines."""
    written = [draw.words() for _ in range(draw.integer(0, 12))]
    return "\n".join(written) + draw.one(("\n", "\n", ""))


def content(draw: Draw) -> tuple[str, str]:
    """Return a path, and the text of the file there."""
    path, text = draw.existing("content", earlier=0.8)
    return path, text


def block(draw: Draw, text: str) -> str:
    """Return one to three lines of a text."""
    found = text.replace("\r\n", "\n").split("\n")
    start = draw.integer(0, len(found) - 1)
    return "\n".join(found[start : start + draw.integer(1, 3)])


def edit(draw: Draw, text: str) -> JsonObject:
    """Return a block of a text, or part of a line, and its replacement."""
    old = block(draw, text)
    if draw.chance(0.3) and len(old) > 4:
        old = old[draw.integer(0, len(old) // 2) :][: draw.integer(2, 12)]
    new = draw.one(
        (
            draw.words(),
            f"{old}\n{draw.words()}",
            f"{draw.words()}\n{old}",
            f"{draw.words()}\n{draw.words()}",
            old.upper(),
        )
    )
    return {"oldText": old, "newText": new}


def loosened(draw: Draw, text: str) -> str:
    """Return a text with other white space at the ends of its lines."""
    return "\n".join(draw.one(("  ", "", "\t")) + line.strip() + draw.one(("", " ")) for line in text.split("\n"))


class Filesystem(Subject):
    """Kinds of values: `file`, `directory` and `media` are paths; `content` is a path with the text of its file."""

    tables = ("nodes",)
    calls = Path(__file__).with_suffix(".yaml")
    helpers = (known, new, absent, outside, spelled, lines, content, block, edit, loosened)

    weights: ClassVar = {
        "read_file": 0.7,
        "list_allowed_directories": 0.2,
        "edit_file": 1.6,
        "write_file": 1.4,
        "search_files": 1.2,
    }

    tokens: ClassVar = {
        "temporary": re.compile(r"\b[0-9a-f]{32}(?=\.tmp)"),
        # No system call sets a file's creation time.
        "created": re.compile(r"(?<=created: )[A-Z][^\n]+"),
    }

    def placeholders(self, root: Path) -> Mapping[str, str]:
        """Return the folder that the server is allowed to use."""
        return {"root": str(root / "projects")}

    def environment(self, root: Path) -> Mapping[str, str]:
        """Return the home folder that `~` expands to."""
        return {"HOME": str(root / "home")}

    def roots(self, root: Path) -> Mapping[str, str]:
        """Return the allowed folder, one outside that symlinks lead to, and the home folder."""
        return {
            "/projects": str(root / "projects"),
            "/srv": str(root / "srv"),
            "/agent": str(root / "home"),
        }

    def lay_out(self, world: World, root: Path) -> None:
        """Write the nodes as files, with their permissions and times; directories last, since files change theirs.

        They get a second of their own, so that no file created by a call shares their creation time.
        """
        if time() % 1 > LATE:
            _sleep_to_next_second()
        nodes = world.query(NODES)
        for node in nodes:
            path = root / node["path"][1:]
            if node["kind"] == "directory":
                path.mkdir()
            elif node["kind"] == "symlink":
                path.symlink_to(re.sub("^/", f"{root}/", node["target"]))
            else:
                path.write_bytes(_bytes(node))
        for node in sorted(nodes, key=lambda node: node["kind"] == "directory"):
            if node["kind"] == "symlink":
                continue
            path = root / node["path"][1:]
            path.chmod(node["mode"])
            # With relatime, an access updates atime only if that is older than a day or than the last change: here it never is.
            os.utime(path, (instant(node["accessed"]), instant(node["modified"])))
        _sleep_to_next_second()

    def initial(self, world: World) -> Mapping[str, Sequence[JsonValue]]:
        """Return the paths below the allowed folder, and the texts of the files."""
        nodes = [node for node in world.query(NODES) if within(node["path"])]
        files = [node for node in nodes if node["kind"] == "file"]
        return {
            "file": [node["path"] for node in files],
            "directory": [node["path"] for node in nodes if node["kind"] == "directory"],
            "media": [node["path"] for node in files if node["encoding"] == "base64"],
            "content": [[node["path"], node["content"]] for node in files if node["encoding"] == "utf-8"],
        }

    def learn(self, past: Past, call: GeneratedCall, reply: JsonObject) -> None:
        """Note the files that were written, created and moved."""
        arguments = call.arguments
        match call.tool:
            case "write_file":
                self._wrote(past, absolute(arguments["path"]), arguments["content"])
            case "edit_file" if not arguments.get("dryRun"):
                path = absolute(arguments["path"])
                known = next((text for at, text in past.values("content") if at == path), None)
                for edit in arguments["edits"]:
                    found = known is not None and edit["oldText"] in known
                    known = cast(str, known).replace(edit["oldText"], edit["newText"], 1) if found else None
                self._wrote(past, path, known)
            case "create_directory":
                path = absolute(arguments["path"])
                # create_directory makes the missing parents too.
                while within(path) and path != ROOT:
                    past.note("directory", path)
                    path = dirname(path)
            case "move_file":
                self._moved(past, absolute(arguments["source"]), absolute(arguments["destination"]))
            case _:
                pass

    def _wrote(self, past: Past, path: str, text: str | None) -> None:
        past.note("file", path)
        # A file has one text at a time.
        past.drop("content", *(pair for pair in past.values("content") if pair[0] == path))
        if text is not None:
            past.note("content", [path, text])

    def _moved(self, past: Past, source: str, destination: str) -> None:
        for kind in ("file", "directory", "media", "content"):
            for value in past.values(kind):
                path = value[0] if kind == "content" else value
                if path != source and not path.startswith(f"{source}/"):
                    continue
                moved = destination + path[len(source) :]
                past.drop(kind, value)
                past.note(kind, [moved, value[1]] if kind == "content" else moved)


def _sleep_to_next_second() -> None:
    sleep(1 - time() % 1)


def _bytes(node: JsonObject) -> bytes:
    content = node["content"]
    return b64decode(content) if node["encoding"] == "base64" else content.encode()
