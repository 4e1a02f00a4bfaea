"""ls: lists directories as GNU's does where its output is no terminal."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from posixpath import basename
from zlib import crc32

from simtrain.worlds.machine.commands.options import Options, parsed
from simtrain.worlds.machine.commands.sizes import blocks, human
from simtrain.worlds.machine.commands.versions import compare_versions
from simtrain.worlds.machine.commands.zones import local
from simtrain.worlds.machine.invocation import Invocation, Result
from simtrain.worlds.machine.nodes import TreeNode
from simtrain.worlds.machine.problems import attempt

_SHORT = "aAbBcCdfFgGhHiI:klLmnNopqQrRsStT:uUvw:xXZ1"
_LONG = {
    "all": "a", "almost-all": "A", "ignore-backups": "B", "directory": "d", "classify=?": "F", "no-group": "G",
    "human-readable": "h", "si": "si", "inode": "i", "ignore=": "I", "kibibytes": "k", "dereference": "L",
    "numeric-uid-gid": "n", "literal": "N", "hide-control-chars": "q", "quote-name": "Q", "reverse": "r",
    "recursive": "R", "size": "s", "width=": "w", "color=?": "color", "colour=?": "color", "time-style=": "time-style",
    "full-time": "full-time", "group-directories-first": "group-directories-first", "sort=": "sort", "time=": "time",
    "file-type": "file-type", "indicator-style=": "indicator-style", "format=": "format", "author": "author",
    "hide=": "I", "escape": "b", "block-size=": "block-size", "dereference-command-line": "H", "show-control-chars": "N",
    "quoting-style=": "quoting-style", "tabsize=": "T", "zero": "zero", "hyperlink=?": "hyperlink",
}  # fmt: skip
_SORTS = {"size": "S", "time": "t", "version": "v", "extension": "X", "none": "U", "name": "name"}
_FORMATS = {
    "verbose": "l", "long": "l", "commas": "m", "horizontal": "x", "across": "x", "vertical": "C", "single-column": "1",
}  # fmt: skip
_DIGITS = 18
_WIDEST = 10_000
_MARKINGS = {"none": "", "slash": "p", "file-type": "file-type", "classify": "F"}
_HALF_YEAR = 31_556_952 // 2
_MARKS = {"directory": "/", "link": "@"}

_PLAIN = re.compile(r"[^\s!\"$&'()*;<=>?\[\\^`|~#{}][^\s!\"$&'()*;<=>?\[\\^`|]*")

# As in C; bytes that are no UTF-8 by their number.
_ESCAPES = {
    **{number: f"\\{number:03o}" for number in (*range(32), 127)},
    **{0xDC00 + number: f"\\{number:03o}" for number in range(128, 256)},
    **{ord(letter): f"\\{name}" for letter, name in zip("\a\b\t\n\v\f\r\\", "abtnvfr\\", strict=True)},
}


@dataclass(frozen=True, slots=True)
class _Entry:
    """What is listed under a name."""

    name: str
    path: str
    node: TreeNode


def ls(call: Invocation) -> Result:
    """List what the operands name; the working directory without any."""
    options = parsed(call, _SHORT, _LONG, code=2)
    if isinstance(options, Result):
        return options
    for name, value in options.given:
        if name == "format" and value not in _FORMATS:
            listed = ["'verbose', 'long'", "'commas'", "'horizontal', 'across'", "'vertical'", "'single-column'"]
            return _unknown("format", value, listed)
        if name == "indicator-style" and value not in _MARKINGS:
            return _unknown(name, value, [f"'{one}'" for one in _MARKINGS])
        if name in ("w", "T") and not (value.isascii() and value.isdigit() and len(value) < _DIGITS):
            what = "line width" if name == "w" else "tab size"
            return Result(stderr=f"ls: invalid {what}: '{value}'\n", exit_code=2)
    meant = {"format": _FORMATS, "indicator-style": _MARKINGS}
    options.given = [(meant[name][value], "") if name in meant else (name, value) for name, value in options.given]
    return _Listing(call, options).result(options.operands or ["."])


def _unknown(option: str, value: str, listed: Sequence[str]) -> Result:
    lines = "".join(f"  - {line}\n" for line in listed)
    text = f"ls: invalid argument '{value}' for '--{option}'\nValid arguments are:\n{lines}Try 'ls --help' for more information.\n"
    return Result(stderr=text, exit_code=1)


class _Listing:
    def __init__(self, call: Invocation, options: Options) -> None:
        self._call = call
        self._options = options
        self._long = options.last("l", "1", "C", "m", "x") == "l" or options.has("g", "o", "n", "full-time")
        self._errors: list[str] = []
        self._code = 0

    def result(self, names: Sequence[str]) -> Result:
        files: list[_Entry] = []
        directories: list[_Entry] = []
        for name in names:
            entry = self._operand(name)
            if entry is None:
                continue
            into = directories if entry.node.kind == "directory" and not self._options.has("d") else files
            into.append(entry)
        parts: list[str] = []
        if files:
            parts.append(self._shown(self._sorted(files), total=False))
        headed = len(names) > 1 or self._options.has("R")
        waiting = self._sorted(directories)
        while waiting:
            directory = waiting.pop(0)
            below = self._directory(directory)
            if below is None:
                continue
            parts.append((f"{directory.name}:\n" if headed else "") + self._shown(below, total=True))
            if self._options.has("R"):
                inner = [each for each in below if each.node.kind == "directory" and each.name not in (".", "..")]
                prefix = f"{directory.name.rstrip('/')}/"
                waiting = [_Entry(prefix + each.name, each.path, each.node) for each in inner] + waiting
        return Result("\n".join(parts), "".join(self._errors), self._code)

    def _operand(self, name: str) -> _Entry | None:
        path = self._call.path(name)
        # A link to a directory is followed only where no details are asked for.
        follow = self._options.has("L", "H") or not (self._long or self._options.has("d", "F"))
        found = attempt(lambda: self._call.files.node(path, follow=follow or name.endswith("/")))
        if isinstance(found, OSError) and follow:
            found = attempt(lambda: self._call.files.node(path, follow=False))
        if isinstance(found, OSError):
            self._errors.append(f"ls: cannot access {quoted(name)}: {found.strerror}\n")
            self._code = 2
            return None
        return _Entry(name, path, found)

    def _directory(self, directory: _Entry) -> list[_Entry] | None:
        files, options = self._call.files, self._options
        names = attempt(lambda: files.names(directory.path))
        if isinstance(names, OSError):
            self._errors.append(f"ls: cannot open directory {quoted(directory.name)}: {names.strerror}\n")
            self._code = max(self._code, 2 if directory.name in (self._options.operands or ["."]) else 1)
            return None
        if options.last("a", "A", "f") in ("a", "f"):
            names = [".", "..", *names]
        elif not options.has("A"):
            names = [name for name in names if not name.startswith(".")]
        if options.has("B"):
            names = [name for name in names if not name.endswith("~")]
        for pattern in options.values("I"):
            names = [name for name in names if not _fits(name, pattern)]
        follow = options.has("L")
        entries: list[_Entry] = []
        for name in names:
            path = f"{directory.path.rstrip('/')}/{name}"
            found = attempt(lambda path=path: files.node(path, follow=follow))
            if isinstance(found, OSError):
                found = attempt(lambda path=path: files.node(path, follow=False))
            if not isinstance(found, OSError):
                entries.append(_Entry(name, path, found))
        return self._sorted(entries)

    def _sorted(self, entries: list[_Entry]) -> list[_Entry]:
        options = self._options
        asked = options.value("sort")
        order = _SORTS.get(asked, "name") if asked else options.last("S", "t", "v", "X", "U", "f") or "name"
        if order in ("U", "f"):
            return entries
        found = sorted(entries, key=lambda one: one.name.encode("utf-8", "surrogateescape"))
        if order == "S":
            found.sort(key=lambda one: -one.node.size)
        elif order == "t":
            found.sort(key=lambda one: -one.node.modified)
        elif order == "v":
            found.sort(key=cmp_to_key(lambda one, other: compare_versions(one.name, other.name)))
        elif order == "X":
            found.sort(key=lambda one: _extension(one.name))
        if options.has("r"):
            found.reverse()
        if options.has("group-directories-first"):
            found.sort(key=lambda one: not self._call.files.is_directory(one.path))
        return found

    def _shown(self, entries: list[_Entry], *, total: bool) -> str:
        head = ""
        if total and (self._long or self._options.has("s")):
            head = f"total {self._blocks_shown(sum(blocks(one.node) for one in entries))}\n"
        if self._long:
            return head + "".join(f"{line}\n" for line in self._details(entries))
        prefixes = self._prefixes(entries)
        if self._aligns(entries):
            prefixes = [
                prefix + ("" if needs_quotes(entry.name) else " ")
                for prefix, entry in zip(prefixes, entries, strict=True)
            ]
        names = [prefix + self._named(entry) for prefix, entry in zip(prefixes, entries, strict=True)]
        if self._options.last("l", "1", "C", "m", "x") == "m":
            return head + _in_commas(names)
        if self._options.last("l", "1", "C", "m", "x") in ("C", "x"):
            wide = min(int(self._options.value("w") or self._call.environment.get("COLUMNS") or 80), _WIDEST)
            return head + in_columns(names, wide, across=self._options.last("C", "x") == "x", tab=self._tab)
        end = "\0" if self._options.has("zero") else "\n"
        return head + "".join(name + end for name in names)

    @property
    def _tab(self) -> int:
        """Return how wide a tab between columns is; 0 without any, as where names have colours."""
        coloured = self._options.value("color") == "always"
        return 0 if coloured else min(int(self._options.value("T") or 8), _WIDEST)

    def _blocks_shown(self, count: int) -> str:
        return human(count * 1024, 1024) if self._options.has("h") else str(count)

    def _prefixes(self, entries: list[_Entry]) -> list[str]:
        columns: list[list[str]] = []
        if self._options.has("i"):
            columns.append([str(inode(one.path)) for one in entries])
        if self._options.has("s"):
            columns.append([self._blocks_shown(blocks(one.node)) for one in entries])
        widths = [max((len(cell) for cell in column), default=0) for column in columns]
        return [
            "".join(column[place].rjust(width) + " " for column, width in zip(columns, widths, strict=True))
            for place in range(len(entries))
        ]

    def _details(self, entries: list[_Entry]) -> list[str]:
        options, call = self._options, self._call
        users, groups = call.machine.users, call.machine.groups
        columns: list[tuple[list[str], Callable[[str, int], str]]] = [
            ([one.node.letters for one in entries], str.ljust),
            ([str(self._links(one)) for one in entries], str.rjust),
        ]
        if not options.has("g"):
            owners = [one.node.owner for one in entries]
            if options.has("n"):
                owners = [str(users[name].uid) if name in users else name for name in owners]
            columns.append((owners, str.rjust if options.has("n") else str.ljust))
        if not options.has("o", "G"):
            found = [one.node.group for one in entries]
            if options.has("n"):
                found = [str(groups.get(name, name)) for name in found]
            columns.append((found, str.rjust if options.has("n") else str.ljust))
        if options.has("author"):
            columns.append(([one.node.owner for one in entries], str.ljust))
        columns.append(([self._size(one.node) for one in entries], str.rjust))
        columns.append(([self._time(one.node) for one in entries], str.rjust))
        lines = self._prefixes(entries)
        for cells, pad in columns:
            width = max((len(cell) for cell in cells), default=0)
            lines = [line + pad(cell, width) + " " for line, cell in zip(lines, cells, strict=True)]
        if self._aligns(entries):
            lines = [
                line + ("" if needs_quotes(entry.name) else " ") for line, entry in zip(lines, entries, strict=True)
            ]
        return [line + self._named(entry, arrow=True) for line, entry in zip(lines, entries, strict=True)]

    def _quotes_for_shell(self) -> bool:
        return (self._options.value("quoting-style") or "").startswith("shell") and not self._options.has("N", "Q", "b")

    def _aligns(self, entries: list[_Entry]) -> bool:
        """Return whether names without quotes stand behind a blank, below the quotes of others."""
        return self._quotes_for_shell() and any(needs_quotes(entry.name) for entry in entries)

    def _links(self, entry: _Entry) -> int:
        return link_count(self._call, entry.path, entry.node)

    def _size(self, node: TreeNode) -> str:
        if node.kind == "device":
            return "1, 3"
        if self._options.has("si"):
            return human(node.size, 1000)
        return human(node.size, 1024) if self._options.has("h") else str(node.size)

    def _time(self, node: TreeNode) -> str:
        options, moment = self._options, local(node.modified, self._call.environment)
        style = "full-iso" if options.has("full-time") else options.value("time-style")
        if style is None:
            style = self._call.environment.get("TIME_STYLE", "locale")
        if style.startswith("+"):
            return moment.strftime(style[1:])
        if style == "full-iso":
            return f"{moment:%Y-%m-%d %H:%M:%S}.{round(node.modified % 1 * 1e9):09d} {moment:%z}"
        if style == "long-iso":
            return f"{moment:%Y-%m-%d %H:%M}"
        recent = 0 <= self._call.now - node.modified < _HALF_YEAR
        if style == "iso":
            return f"{moment:%m-%d %H:%M}" if recent else f"{moment:%Y-%m-%d} "
        day = f"{moment:%b} {moment.day:2}"
        return f"{day} {moment:%H:%M}" if recent else f"{day}  {moment.year}"

    def _named(self, entry: _Entry, *, arrow: bool = False) -> str:
        options, node = self._options, entry.node
        quoting = options.last("Q", "b", "N")
        name = entry.name.translate(_ESCAPES) if quoting in ("Q", "b") else entry.name
        if quoting == "Q":
            name = '"' + name.replace('"', '\\"') + '"'
        if self._quotes_for_shell() and needs_quotes(name):
            name = quoted(name)
        if quoting == "b":
            name = name.replace(" ", "\\ ")
        if options.has("q"):
            name = "".join(letter if letter.isprintable() else "?" for letter in name)
        marks = options.has("F", "file-type")
        if arrow and node.kind == "link":
            target = attempt(lambda: self._call.files.node(entry.path))
            mark = "" if isinstance(target, OSError) or not (marks or options.has("p")) else self._mark(target)
            return f"{name} -> {node.target}{mark}"
        if marks:
            return name + self._mark(node)
        return name + "/" if options.has("p") and node.kind == "directory" else name

    def _mark(self, node: TreeNode) -> str:
        if node.kind == "file" and node.mode & 0o111 and self._options.has("F"):
            return "*"
        return _MARKS.get(node.kind, "")


def quoted(name: str) -> str:
    """Return a name in an error text, as coreutils quote it for the shell."""
    if "'" not in name:
        return f"'{name}'"
    return '"' + name + '"' if '"' not in name else "'" + name.replace("'", "'\\''") + "'"


def needs_quotes(name: str) -> bool:
    """Return whether coreutils quote a name on a terminal: a shell would not take it for one word of itself."""
    return not name or _PLAIN.fullmatch(name) is None


def inode(path: str) -> int:
    """Return the number of the inode at a path: the same for a path in every episode."""
    return 131_072 + crc32(path.encode("utf-8", "surrogateescape")) % 8_000_000


def link_count(call: Invocation, path: str, node: TreeNode) -> int:
    """Return the number of hard links: a directory has one for its name, one for `.` and one for each directory in it."""
    if node.kind != "directory":
        return 1
    tree = call.machine.tree
    real = attempt(lambda: call.files.real(path))
    if isinstance(real, OSError):
        return 2
    below = (tree.get(f"{real.rstrip('/')}/{name}") for name in tree.names(real))
    return 2 + sum(1 for found in below if found is not None and found.kind == "directory")


def in_columns(names: Sequence[str], wide: int, *, across: bool, tab: int) -> str:
    """Return names in as many columns as a line holds, as `ls -C` writes them: with tabs between, where these reach far enough."""
    if not names:
        return ""
    for rows in range(1, len(names) + 1):
        count = -(-len(names) // rows)
        at = [names[start::count] if across else names[start * rows : (start + 1) * rows] for start in range(count)]
        widths = [max((len(name) for name in column), default=0) + 2 for column in at]
        if sum(widths) - 2 < wide or rows == len(names):
            break
    else:
        return "".join(f"{name}\n" for name in names)
    lines: list[str] = []
    for row in range(rows):
        line, reached, begin = "", 0, 0
        for column, width in zip(at, widths, strict=True):
            if row < len(column):
                line += _gap(reached, begin, tab) + column[row]
                reached = begin + len(column[row])
                begin += width
        lines.append(f"{line}\n")
    return "".join(lines)


def _gap(at: int, to: int, tab: int) -> str:
    text = ""
    while at < to:
        if tab and to // tab > (at + 1) // tab:
            text += "\t"
            at += tab - at % tab
        else:
            text += " "
            at += 1
    return text


def _in_commas(names: Sequence[str]) -> str:
    lines, line = list[str](), ""
    for place, name in enumerate(names):
        piece = name + (", " if place < len(names) - 1 else "")
        if line and len(line) + len(piece.rstrip()) > 79:
            lines.append(line.rstrip())
            line = ""
        line += piece
    return "".join(f"{one}\n" for one in [*lines, line] if one)


def _extension(name: str) -> bytes:
    stem, dot, end = basename(name).rpartition(".")
    return (dot + end).encode() if stem and dot else b""


def _fits(name: str, pattern: str) -> bool:
    from fnmatch import fnmatchcase

    return fnmatchcase(name, pattern)
