"""The tools `glob` and `grep`: files by the pattern of their path, and by what stands in them."""

from shlex import quote

from simtrain.values.types import JsonObject, JsonValue, Observation
from simtrain.worlds.handlers.filesystem.globs import glob as pattern_of
from simtrain.worlds.machine.coding.desk import CodingDesk, CodingRefusal, refused

MOST_FILES = 100
MOST_LINES = 250
_NOT_ENTERED = frozenset({".git", "__pycache__"})


def glob(desk: CodingDesk, arguments: JsonObject) -> Observation:
    """Return the files whose path fits a pattern, the last changed first. Raises CodingRefusal, OSError."""
    top = _top(desk, arguments)
    pattern = str(arguments["pattern"])
    if pattern.startswith("/"):
        # As an absolute path: what stands before the first wildcard is where to look.
        fixed = pattern[: min((pattern.find(mark) for mark in "*?[{" if mark in pattern), default=len(pattern))]
        top = fixed.rpartition("/")[0] or "/"
        pattern = pattern[len(top) :].lstrip("/")
        if not desk.files.is_directory(top):
            return Observation("No files found", structured={"files": [], "truncated": False})
    fits = pattern_of(pattern)
    if not desk.files.is_directory(top):
        raise CodingRefusal(f"Path is not a directory: {top}")
    found = [path for path in _files(desk, top) if fits(path[len(top) :].lstrip("/"))]
    found.sort(key=lambda path: (-desk.files.node(path, follow=False).modified, path))
    more = len(found) > MOST_FILES
    shown: list[JsonValue] = list(found[:MOST_FILES])
    note = "\n(Results are truncated. Consider using a more specific path or pattern.)" if more else ""
    text = "\n".join(found[:MOST_FILES]) + note if found else "No files found"
    return Observation(text, structured={"files": shown, "truncated": more})


def grep(desk: CodingDesk, arguments: JsonObject) -> Observation:
    """Return what ripgrep finds. Raises CodingRefusal."""
    mode = str(arguments.get("output_mode") or "files_with_matches")
    result = desk.run(f"{_command(desk, arguments, mode)} {quote(_top(desk, arguments))}")
    if result.exit_code > 1:
        return refused(f"ripgrep failed: {result.stderr.strip()}")
    lines = result.stdout.splitlines()
    most = int(arguments.get("head_limit") or MOST_LINES)
    shown: list[JsonValue] = list(lines[:most])
    structured: JsonObject = {"lines": shown, "truncated": len(lines) > most}
    if not lines:
        return Observation(
            "No files found" if mode == "files_with_matches" else "No matches found", structured=structured
        )
    text = "\n".join(lines[:most])
    if mode == "files_with_matches":
        text = f"Found {len(lines)} file{'s' if len(lines) > 1 else ''}\n{text}"
    elif mode == "count":
        total = sum(int(line.rpartition(":")[2]) for line in lines)
        text += f"\n\nFound {total} total occurrence{'s' if total > 1 else ''} across {len(lines)} file{'s' if len(lines) > 1 else ''}."
    if len(lines) > most:
        text += f"\n[{len(lines) - most} more lines. Raise head_limit, or search for something more specific.]"
    return Observation(text, structured=structured)


def _command(desk: CodingDesk, arguments: JsonObject, mode: str) -> str:
    words = [
        "rg",
        "--sort",
        "path",
        "--hidden",
        "--no-heading",
        "--color",
        "never",
        "-H",
        "--max-columns",
        "500",
        "-g",
        "'!**/.git/**'",
    ]
    if mode == "files_with_matches":
        words.append("-l")
    elif mode == "count":
        words.append("-c")
    else:
        words.append("-n" if arguments.get("-n", True) else "-N")
        for option in ("-A", "-B", "-C"):
            if option in arguments:
                words += [option, str(int(arguments[option]))]
    if arguments.get("-i"):
        words.append("-i")
    if arguments.get("multiline"):
        words += ["-U", "--multiline-dotall"]
    for option, name in (("-g", "glob"), ("-t", "type")):
        if name in arguments:
            words += [option, quote(str(arguments[name]))]
    return " ".join([*words, "-e", quote(str(arguments["pattern"])), "--"])


def _top(desk: CodingDesk, arguments: JsonObject) -> str:
    path = desk.path(str(arguments.get("path") or "."))
    if not desk.files.exists(path):
        raise CodingRefusal(f"Path does not exist: {path}")
    return path


def _files(desk: CodingDesk, top: str) -> list[str]:
    """Return the files below a directory, without those of git and of caches."""
    files, found, waiting = desk.files, list[str](), [top]
    while waiting:
        folder = waiting.pop()
        try:
            names = files.names(folder)
        except OSError:
            continue
        for name in names:
            path = f"{folder.rstrip('/')}/{name}"
            kind = files.node(path, follow=False).kind
            if kind == "directory" and name not in _NOT_ENTERED:
                waiting.append(path)
            elif kind in ("file", "link"):
                found.append(path)
    return found
