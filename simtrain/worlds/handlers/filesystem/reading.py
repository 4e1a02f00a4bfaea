"""The tools that read files: text, its first or last lines, several files at once, media."""

import math
from base64 import b64encode
from collections.abc import Mapping
from posixpath import splitext
from urllib.parse import quote

from simtrain.contracts.handler import HandlerContext, Reply, ToolError
from simtrain.values.types import JsonObject
from simtrain.worlds.handlers.filesystem.failures import FileSystemFailure
from simtrain.worlds.handlers.filesystem.paths import located
from simtrain.worlds.handlers.filesystem.tree import Tree

_MEDIA: Mapping[str, str] = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".bmp": "image/bmp",
    ".svg": "image/svg+xml",
    ".mp3": "audio/mpeg",
    ".wav": "audio/wav",
    ".ogg": "audio/ogg",
    ".flac": "audio/flac",
}
_OTHER_MEDIA = "application/octet-stream"
_PLAIN_IN_URLS = "/!$&'()*+,-.:;=@_"


def text_reply(text: str) -> Reply:
    """Return a reply whose structured content holds its text."""
    return Reply(text, {"content": text})


def read_text_file(context: HandlerContext) -> Reply:
    """Return the text of a file, or its first or last lines."""
    tree = Tree(context)
    path = located(tree, context.arguments["path"])
    head, tail = context.arguments["head"], context.arguments["tail"]
    if head and tail:
        raise ToolError("Cannot specify both head and tail parameters simultaneously")
    if tail:
        return text_reply(_last_lines(tree, path, tail))
    if head and head < 0:
        # The server opens the file and reads nothing, so a directory gives no error either.
        if tree.node(path) is None:
            raise FileSystemFailure("ENOENT", "open", path)
        return text_reply("")
    text = tree.text(path)
    return text_reply(_first_lines(text, head) if head else text)


def _first_lines(text: str, count: float) -> str:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    # A JSON number may be a fraction; the server stops once it has at least that many lines.
    return "\n".join(lines[: math.ceil(min(count, len(lines)))])


def _last_lines(tree: Tree, path: str, count: float) -> str:
    if tree.node(path) is None:
        raise FileSystemFailure("ENOENT", "stat", path)
    text = tree.text(path)
    if count < 0:
        return ""
    lines = text.replace("\r\n", "\n").split("\n")
    # As in JavaScript, a count below 1 becomes slice(-0), which is everything.
    return "\n".join(lines[-int(min(count, len(lines))) :])


def read_media_file(context: HandlerContext) -> Reply:
    """Return a file as base64: an image, a sound, or a resource of any other kind."""
    tree = Tree(context)
    path = located(tree, context.arguments["path"])
    data = b64encode(tree.content(path)).decode()
    mime = _MEDIA.get(splitext(path)[1].lower(), _OTHER_MEDIA)
    block: JsonObject
    if mime == _OTHER_MEDIA:
        block = {"type": "resource", "resource": {"uri": _url(path), "mimeType": mime, "blob": data}}
    else:
        block = {"type": mime.partition("/")[0], "data": data, "mimeType": mime}
    return Reply("", {"content": [block]}, blocks=(block,))


def _url(path: str) -> str:
    return "file://" + quote(path, safe=_PLAIN_IN_URLS).replace("~", "%7E")


def read_multiple_files(context: HandlerContext) -> Reply:
    """Return the texts of several files, each under its path; one that cannot be read does not stop the others."""
    tree = Tree(context)
    return text_reply("\n---\n".join(_with_path(tree, given) for given in context.arguments["paths"]))


def _with_path(tree: Tree, given: str) -> str:
    try:
        return f"{given}:\n{tree.text(located(tree, given))}\n"
    except ToolError as error:
        return f"{given}: Error - {error}"
