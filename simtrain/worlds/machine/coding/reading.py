"""The tool `read`: the lines of a file with their numbers."""

from difflib import get_close_matches
from posixpath import basename, dirname, splitext

from simtrain.values.types import JsonObject, Observation
from simtrain.worlds.machine.coding.desk import CodingDesk, CodingRefusal
from simtrain.worlds.machine.coding.tools import LONGEST_LINE, MOST_LINES

_LARGEST = 256_000
"""Bytes of a file that is read as a whole."""
_CUT = "... [truncated]"


def read(desk: CodingDesk, arguments: JsonObject) -> Observation:
    """Return the lines of a file. Raises CodingRefusal for what is no text or not there, OSError for what may not be read."""
    path = desk.path(str(arguments["file_path"]))
    text, content = text_at(desk, path)
    lines = split(text)
    first, limit = int(arguments.get("offset") or 1), int(arguments.get("limit") or MOST_LINES)
    if "limit" not in arguments and "offset" not in arguments and len(content) > _LARGEST:
        raise CodingRefusal(
            f"File content ({len(content)} bytes) exceeds maximum allowed size ({_LARGEST} bytes). Please use offset and limit "
            "parameters to read specific portions of the file, or use the grep tool to search for specific content."
        )
    desk.note(path, content)
    shown = lines[first - 1 : first - 1 + limit]
    structured: JsonObject = {
        "file_path": path, "content": "".join(shown), "first_line": first, "lines": len(shown), "total_lines": len(lines),
    }  # fmt: skip
    if not lines:
        return Observation("Warning: the file exists but the contents are empty.", structured=structured)
    if not shown:
        warning = f"Warning: the file exists but is shorter than the provided offset ({first}). The file has {len(lines)} lines."
        return Observation(warning, structured=structured)
    written = numbered(shown, first)
    left = len(lines) - (first - 1 + len(shown))
    if left:
        written += f"\n[{left} more lines. Use offset={first + len(shown)} to read on.]"
    return Observation(written, structured=structured)


def text_at(desk: CodingDesk, path: str) -> tuple[str, bytes]:
    """Return the text and the bytes of a file. Raises CodingRefusal or OSError."""
    files = desk.files
    if not files.exists(path):
        raise CodingRefusal(f"File does not exist.{_nearest(desk, path)}")
    content = files.read(path)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        kind = splitext(path)[1]
        raise CodingRefusal(
            f"This tool cannot read binary files. The file appears to be a binary{f' {kind}' if kind else ''} file."
        )
    return text, content


def split(text: str) -> list[str]:
    """Return the lines of a text with their ends; only a newline ends one."""
    return [f"{line}\n" for line in text.split("\n")[:-1]] + (
        [text.rpartition("\n")[2]] if text[-1:] not in ("", "\n") else []
    )


def numbered(lines: list[str], first: int) -> str:
    """Return lines as `cat -n` shows them, long ones cut."""
    shown: list[str] = []
    for number, line in enumerate(lines, first):
        bare = line.removesuffix("\n").removesuffix("\r")
        shown.append(f"{number:>6}\t{bare if len(bare) <= LONGEST_LINE else bare[:LONGEST_LINE] + _CUT}")
    return "\n".join(shown)


def _nearest(desk: CodingDesk, path: str) -> str:
    """Return a hint at a file of nearly the same name in the same directory."""
    folder = dirname(path)
    try:
        names = desk.files.names(folder)
    except OSError:
        return ""
    near = get_close_matches(basename(path), names, n=1, cutoff=0.6)
    return f" Did you mean {folder.rstrip('/')}/{near[0]}?" if near else ""
