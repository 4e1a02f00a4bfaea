"""How the calls on a filesystem server are made: paths as people and programs write them, patterns, texts and edits."""

from __future__ import annotations

from posixpath import basename, dirname, join, normpath

from simtrain.mcp.verify.draw import Draw, NothingToDraw
from simtrain.mcp.verify.subject import makes
from simtrain.values.types import JsonObject

ROOT = "/projects"
ENDINGS = (".md", ".txt", ".csv", ".json", ".py", ".png", "")
ODD_NAMES = (
    "two words.txt",
    "naïve café.md",
    "日本語.txt",
    ".hidden",
    "#1.txt",
    "[draft].md",
    "{a}.txt",
    "UPPER.MD",
    "a'b.txt",
    "100%.txt",
)
OUTSIDE = (
    "/etc/passwd",
    "/srv/scans/old-maps.txt",
    "/projects-old/a.txt",
    "~/notes.txt",
    "~",
    "C:\\notes.txt",
    "/projects/maps",
)
PATTERNS = (
    "*.md", "**/*.md", "**/*.txt", "*", "**", "**/*", "**/README.md", "README.md", "*/README.md", "**/data/*.csv", "**/counts-2031-0?.csv",
    "**/*.{png,jpg}", "**/INV-00[01]*", "invoices/**", "**/docs/**", "**/[a-m]*", "**/*report*", "?*.json", "**/.*", "**/tools",
)  # fmt: skip
ODD_PATTERNS = (
    "", "!*.md", "#*", "**/", "/projects/**",
    "*.MD", "{a,b}*", "**/*.@(md|txt)", "**/!(*.md)", "[", "**/**/*.md", "./*.md", "../*", "**/*.{md",
    "**/INV-000{1..4}.txt", "[!a-m]*", "*\\*", "**/+([0-9])*", "{minutes,logs}/**", "***",
)  # fmt: skip
EXCLUDED = (
    "docs",
    "data",
    "*.md",
    "**/*.csv",
    "photos",
    "invoices",
    "**/docs/**",
    "**/photos",
    "tools",
    ".*",
    "reports/**",
    "README.md",
    "2030",
    "**/*.{png,jpg,svg}",
)
COUNTS = (1, 2, 3, 5, 10, 50)
ODD_COUNTS = (0, -1, 0.5, 1.5, 2.5, 1000000)


def within(path: str) -> bool:
    """True if a path is the allowed folder or lies below it."""
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


class FilesystemCalls:
    """The makers of the calls; kinds of values are those of the subject."""

    @makes("read_file")
    @makes("read_text_file")
    def a_text(self, draw: Draw) -> JsonObject:
        """Return a whole file."""
        return {"path": _spelled(draw, _existing(draw, "file"))}

    @makes("read_file")
    @makes("read_text_file", weight=1.5)
    def some_lines(self, draw: Draw) -> JsonObject:
        """Return the first or last lines of a file."""
        return {"path": _existing(draw, "file"), draw.one(("head", "tail")): draw.one(COUNTS)}

    @makes("read_file", "edge")
    @makes("read_text_file", "edge")
    def odd_counts(self, draw: Draw) -> JsonObject:
        """Return a number of lines that nobody means."""
        return {"path": _existing(draw, "file"), draw.one(("head", "tail")): draw.one(ODD_COUNTS)}

    @makes("read_text_file", "invalid", weight=0.5)
    def both_ends(self, draw: Draw) -> JsonObject:
        """Return the first and the last lines."""
        return {"path": _existing(draw, "file"), "head": 2, "tail": 2}

    @makes("read_file", "invalid", weight=2)
    @makes("read_text_file", "invalid", weight=2)
    @makes("read_media_file", "invalid", weight=2)
    @makes("get_file_info", "invalid", weight=2)
    def nothing_there(self, draw: Draw) -> JsonObject:
        """Return a path with nothing behind it, or outside."""
        return {"path": _absent(draw)}

    @makes("read_text_file", "invalid")
    @makes("read_media_file", "invalid")
    def a_directory_as_file(self, draw: Draw) -> JsonObject:
        """Return a directory where a file is wanted."""
        return {"path": _existing(draw, "directory")}

    @makes("read_media_file")
    def a_media_file(self, draw: Draw) -> JsonObject:
        """Return an image, a sound or raw bytes."""
        return {"path": _existing(draw, "media")}

    @makes("read_media_file")
    def any_file_as_media(self, draw: Draw) -> JsonObject:
        """Any file."""
        return {"path": _spelled(draw, _existing(draw, "file"))}

    @makes("read_multiple_files")
    def several(self, draw: Draw) -> JsonObject:
        """Several files."""
        return {"paths": [_spelled(draw, _existing(draw, "file")) for _ in range(draw.integer(1, 4))]}

    @makes("read_multiple_files", "edge")
    def several_with_mistakes(self, draw: Draw) -> JsonObject:
        """Return a file, a path with nothing behind it, and a directory."""
        return {"paths": [_existing(draw, "file"), _absent(draw), _existing(draw, "directory")]}

    @makes("write_file", weight=2)
    def a_new_file(self, draw: Draw) -> JsonObject:
        """Return a file that is not there yet."""
        return {"path": _spelled(draw, _new(draw, draw.word() + draw.one(ENDINGS))), "content": _lines(draw)}

    @makes("write_file")
    def an_old_file(self, draw: Draw) -> JsonObject:
        """Return a file that is there."""
        return {"path": _spelled(draw, _existing(draw, "file")), "content": _lines(draw)}

    @makes("write_file", "edge")
    def an_odd_file(self, draw: Draw) -> JsonObject:
        """Return a name, or a text, that is rarely thought of."""
        return {"path": _new(draw, draw.one(ODD_NAMES)), "content": draw.odd_text()}

    @makes("write_file", "invalid", weight=2)
    def nowhere_to_write(self, draw: Draw) -> JsonObject:
        """Return a directory, a folder that is not there, or outside."""
        target = draw.one((_existing(draw, "directory"), _new(draw, "missing/a.txt"), draw.one(OUTSIDE)))
        return {"path": target, "content": _lines(draw)}

    @makes("edit_file", weight=3)
    def an_edit(self, draw: Draw) -> JsonObject:
        """Lines of a text replaced by others; often more than one edit, sometimes only shown."""
        path, text = _content(draw)
        edits = [_edit(draw, text) for _ in range(draw.one((1, 1, 1, 2, 3)))]
        return {"path": path, "edits": edits, **({"dryRun": True} if draw.chance(0.25) else {})}

    @makes("edit_file", "edge")
    def a_loose_edit(self, draw: Draw) -> JsonObject:
        """Lines whose white space is not quite right."""
        path, text = _content(draw)
        old, new = _block(draw, text), _block(draw, text)
        loose = "\n".join(draw.one(("  ", "", "\t")) + line.strip() + draw.one(("", " ")) for line in old.split("\n"))
        return {"path": path, "edits": [{"oldText": loose, "newText": f"  {new}\n    {draw.words()}"}]}

    @makes("edit_file", "edge", weight=0.6)
    def an_odd_edit(self, draw: Draw) -> JsonObject:
        """Nothing replaced, nothing changed, no edit at all, other line breaks, backticks."""
        path, text = _content(draw)
        line = _block(draw, text)
        edits = draw.one(
            (
                [{"oldText": "", "newText": draw.word()}],
                [{"oldText": line, "newText": line}],
                [],
                [{"oldText": line, "newText": line.replace("\n", "\r\n") + "\r\n"}],
                [{"oldText": line, "newText": "````\n" + draw.words()}],
                [{"oldText": line, "newText": ""}],
            )
        )
        return {"path": path, "edits": edits, "dryRun": draw.chance(0.5)}

    @makes("edit_file", "invalid", weight=2)
    def an_edit_of_nothing(self, draw: Draw) -> JsonObject:
        """Return a text that does not stand there, or no file."""
        path = draw.one((_existing(draw, "file"), _existing(draw, "directory"), _absent(draw)))
        return {"path": path, "edits": [{"oldText": draw.words() + "\nno such line", "newText": "x"}]}

    @makes("create_directory", weight=2)
    def a_new_directory(self, draw: Draw) -> JsonObject:
        """Return one directory, or two, one in the other."""
        return {"path": _spelled(draw, _new(draw, draw.one((draw.word(), f"{draw.word()}/{draw.word()}"))))}

    @makes("create_directory")
    @makes("list_directory", weight=3)
    @makes("list_directory_with_sizes", weight=2)
    @makes("directory_tree", weight=2)
    @makes("get_file_info")
    def a_directory(self, draw: Draw) -> JsonObject:
        """Return a directory that is there."""
        return {"path": _spelled(draw, _existing(draw, "directory"))}

    @makes("list_directory", "edge")
    @makes("list_directory_with_sizes", "edge")
    @makes("directory_tree", "edge")
    @makes("get_file_info", "edge")
    def the_top(self, draw: Draw) -> JsonObject:
        """Return the allowed folder, in one of its names, or a symlink."""
        return {"path": draw.one((ROOT, f"{ROOT}/", ".", "", "current", f"{ROOT}/handbook/.."))}

    @makes("create_directory", "invalid", weight=2)
    @makes("list_directory", "invalid", weight=2)
    @makes("list_directory_with_sizes", "invalid", weight=2)
    @makes("directory_tree", "invalid", weight=2)
    def no_directory(self, draw: Draw) -> JsonObject:
        """Return a file, something below a file, or outside."""
        file = _existing(draw, "file")
        return {"path": draw.one((file, f"{file}/inner", draw.one(OUTSIDE), _absent(draw)))}

    @makes("list_directory_with_sizes", weight=2)
    def sorted_entries(self, draw: Draw) -> JsonObject:
        """Return a directory in one of the orders."""
        return {"path": _existing(draw, "directory"), "sortBy": draw.one(("name", "size"))}

    @makes("directory_tree")
    def a_tree_without(self, draw: Draw) -> JsonObject:
        """Return a tree without some of what it holds."""
        return {"path": _existing(draw, "directory"), "excludePatterns": draw.some(EXCLUDED)}

    @makes("directory_tree", "edge")
    def a_tree_without_odd_things(self, draw: Draw) -> JsonObject:
        """Return a tree without what odd patterns match."""
        return {"path": draw.one((ROOT, _existing(draw, "directory"))), "excludePatterns": draw.some(ODD_PATTERNS)}

    @makes("search_files", weight=2)
    def a_search(self, draw: Draw) -> JsonObject:
        """Return a pattern from the top or some directory."""
        return {"path": draw.one((ROOT, _existing(draw, "directory"))), "pattern": draw.one(PATTERNS)}

    @makes("search_files")
    def a_search_for_known(self, draw: Draw) -> JsonObject:
        """Return a file that is known by name."""
        return {"path": ROOT, "pattern": f"**/{basename(_existing(draw, 'file'))}"}

    @makes("search_files")
    def a_search_without(self, draw: Draw) -> JsonObject:
        """Return a pattern, and what is not to be looked into."""
        excluded = draw.some(EXCLUDED)
        return {"path": _spelled(draw, ROOT), "pattern": draw.one(PATTERNS), "excludePatterns": excluded}

    @makes("search_files", "edge")
    def an_odd_search(self, draw: Draw) -> JsonObject:
        """Return an odd pattern."""
        return {"path": ROOT, "pattern": draw.one(ODD_PATTERNS), "excludePatterns": draw.some(ODD_PATTERNS, most=1)}

    @makes("search_files", "invalid", weight=2)
    def a_search_nowhere(self, draw: Draw) -> JsonObject:
        """Return a search in a file, in nothing, or outside."""
        return {"path": draw.one((_existing(draw, "file"), _absent(draw))), "pattern": "**/*"}

    @makes("move_file", weight=3)
    def a_move(self, draw: Draw) -> JsonObject:
        """Return a file to a new name, in its directory or another."""
        source = _existing(draw, "file")
        name = draw.one((basename(source), draw.word() + draw.one(ENDINGS)))
        folder = draw.one((dirname(source), _existing(draw, "directory")))
        if join(folder, name) == source:
            name = f"{draw.word()}-{name}"
        return {"source": _spelled(draw, source), "destination": _spelled(draw, join(folder, name))}

    @makes("move_file")
    def a_moved_directory(self, draw: Draw) -> JsonObject:
        """Return a directory to a new name; rarely into itself."""
        source = _existing(draw, "directory")
        if source == ROOT:
            raise NothingToDraw("directory")
        return {"source": source, "destination": _new(draw, draw.word())}

    @makes("move_file", "invalid", weight=2)
    def a_move_that_fails(self, draw: Draw) -> JsonObject:
        """Onto something, from nothing, into itself, to nowhere, outside."""
        source, other = _existing(draw, "file"), _existing(draw, "directory")
        pairs = (
            (source, _existing(draw, "file")),
            (_absent(draw), _new(draw, draw.word())),
            (other, f"{other}/{draw.word()}"),
            (source, f"{other}/{draw.word()}/{draw.word()}"),
            (source, draw.one(OUTSIDE)),
            (source, source),
        )
        chosen = draw.one(pairs)
        return {"source": chosen[0], "destination": chosen[1]}

    @makes("get_file_info", weight=2)
    def a_file(self, draw: Draw) -> JsonObject:
        """Return a file."""
        return {"path": _spelled(draw, _existing(draw, "file"))}

    @makes("list_allowed_directories")
    def nothing(self, draw: Draw) -> JsonObject:
        """No argument."""
        return {}


def _existing(draw: Draw, kind: str) -> str:
    return draw.existing(kind, earlier=0.8)


def _new(draw: Draw, name: str) -> str:
    """Return a path below a directory that is there."""
    return join(_existing(draw, "directory"), name)


def _absent(draw: Draw) -> str:
    """Return a path that was moved away, that never was, or outside."""
    if draw.past.gone("file") and draw.chance(0.5):
        return draw.gone("file")
    return draw.one((_new(draw, f"{draw.word()}.missing"), _new(draw, "missing/a.txt"), draw.one(OUTSIDE)))


def _spelled(draw: Draw, path: str) -> str:
    """Return a path as it is, mostly; else in another spelling."""
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


def _lines(draw: Draw) -> str:
    lines = [draw.words() for _ in range(draw.integer(0, 12))]
    return "\n".join(lines) + draw.one(("\n", "\n", ""))


def _content(draw: Draw) -> tuple[str, str]:
    """Return a path, and the text that lies there."""
    path, text = draw.existing("content", earlier=0.8)
    return path, text


def _block(draw: Draw, text: str) -> str:
    """Return one to three lines of a text."""
    lines = text.replace("\r\n", "\n").split("\n")
    start = draw.integer(0, len(lines) - 1)
    return "\n".join(lines[start : start + draw.integer(1, 3)])


def _edit(draw: Draw, text: str) -> JsonObject:
    """Return a block of a text, or part of a line, and what shall stand there."""
    old = _block(draw, text)
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
