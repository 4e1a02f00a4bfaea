"""The tools of coding agents, as agents are shown them. Names of arguments are those that coding agents are trained on.

`bash`, the seventh, is that of every machine.
"""

from simtrain.values.types import JsonObject, JsonValue, ToolSpec, arguments_of, object_schema

READ, EDIT, WRITE, GLOB, GREP, TODO = "read", "edit", "write", "glob", "grep", "todo_write"
NAMES = (READ, EDIT, WRITE, GLOB, GREP, TODO)

MOST_LINES = 2_000
"""Lines that `read` shows if the call does not say."""
LONGEST_LINE = 2_000
"""Characters of a line that are shown."""

_FILE_PATH: JsonObject = {"type": "string", "minLength": 1, "description": "The absolute path of the file."}
_PATH: JsonObject = {
    "type": "string",
    "minLength": 1,
    "description": "Where to look; the working directory by default.",
}


def coding_tools(host: str, user: str) -> tuple[ToolSpec, ...]:
    """Return the descriptors."""
    return (_read(host, user), _edit(), _write(), _glob(), _grep(), _todo())


def _read(host: str, user: str) -> ToolSpec:
    return ToolSpec(
        READ,
        f"Read a text file on {host} as {user}. Shows up to {MOST_LINES} lines, each with its number, from the beginning or from "
        f"`offset`; a line of more than {LONGEST_LINE} characters is cut.",
        arguments_of(
            ("file_path",),
            file_path=_FILE_PATH,
            offset={"type": "integer", "minimum": 1, "description": "The first line to show, counted from 1."},
            limit={"type": "integer", "minimum": 1, "description": "How many lines to show."},
        ),
        object_schema(
            ("file_path", "content"),
            file_path={"type": "string"},
            content={"type": "string", "description": "The lines that are shown, whole and without numbers."},
            first_line={"type": "integer"},
            lines={"type": "integer", "description": "How many are shown."},
            total_lines={"type": "integer"},
        ),
    )


def _edit() -> ToolSpec:
    return ToolSpec(
        EDIT,
        "Replace a text in a file that you have read. `old_string` must stand in the file exactly as given, with its indentation and "
        "without line numbers, and only once, unless `replace_all` is true.",
        arguments_of(
            ("file_path", "old_string", "new_string"),
            file_path=_FILE_PATH,
            old_string={"type": "string", "description": "The text to replace. Empty: make a new file."},
            new_string={"type": "string", "description": "What to put in its place."},
            replace_all={"type": "boolean", "description": "Replace every occurrence; false by default."},
        ),
        object_schema(
            ("file_path", "replacements", "diff"),
            file_path={"type": "string"},
            replacements={"type": "integer"},
            diff={"type": "string", "description": "What changed, as `diff -u` shows it."},
        ),
        writes=True,
    )


def _write() -> ToolSpec:
    return ToolSpec(
        WRITE,
        "Write a whole file, with the directories on the way. One that is there already must have been read first, and is replaced.",
        arguments_of(("file_path", "content"), file_path=_FILE_PATH, content={"type": "string"}),
        object_schema(
            ("file_path", "created", "diff"),
            file_path={"type": "string"},
            created={"type": "boolean"},
            diff={"type": "string", "description": "What changed, as `diff -u` shows it."},
        ),
        writes=True,
    )


def _glob() -> ToolSpec:
    return ToolSpec(
        GLOB,
        "Find files by a pattern of their path, such as `**/*.py` or `src/**/test_*.py`. The last changed come first.",
        arguments_of(("pattern",), pattern={"type": "string", "minLength": 1}, path=_PATH),
        object_schema(
            ("files", "truncated"),
            files={"type": "array", "items": {"type": "string"}},
            truncated={"type": "boolean"},
        ),
    )


def _grep() -> ToolSpec:
    def count(text: str) -> JsonValue:
        return {"type": "integer", "minimum": 0, "description": text}

    properties: dict[str, JsonValue] = {
        "pattern": {"type": "string", "minLength": 1, "description": "A regular expression, in the syntax of ripgrep."},
        "path": {**_PATH, "description": "A file or directory; the working directory by default."},
        "glob": {"type": "string", "minLength": 1, "description": "Only files of this pattern, such as `*.py`."},
        "type": {"type": "string", "minLength": 1, "description": "Only files of this type, such as `py` or `md`."},
        "output_mode": {
            "enum": ["files_with_matches", "content", "count"],
            "description": "Paths alone (the default), matching lines, or how many there are in each file.",
        },
        "-i": {"type": "boolean", "description": "Ignore case."},
        "-n": {"type": "boolean", "description": "Number the lines; true by default, in `content` alone."},
        "-A": count("Lines to show after each match, in `content` alone."),
        "-B": count("Lines to show before each match, in `content` alone."),
        "-C": count("Lines to show around each match, in `content` alone."),
        "multiline": {"type": "boolean", "description": "Let a match go over several lines."},
        "head_limit": {"type": "integer", "minimum": 1, "description": "Most lines of output; 250 by default."},
    }
    return ToolSpec(
        GREP,
        "Search the content of files with ripgrep. Hidden files are searched as well, `.git` and what .gitignore names are not.",
        arguments_of(("pattern",), **properties),
        object_schema(
            ("lines", "truncated"),
            lines={"type": "array", "items": {"type": "string"}},
            truncated={"type": "boolean"},
        ),
    )


def _todo() -> ToolSpec:
    todo = arguments_of(
        ("content", "status"),
        content={"type": "string", "minLength": 1, "description": "What is to be done."},
        status={"enum": ["pending", "in_progress", "completed"]},
        activeForm={"type": "string", "description": "The same while it is being done: `Running the tests`."},
    )
    return ToolSpec(
        TODO,
        "Keep the list of what is to be done for the task. The list that is given replaces the one before.",
        arguments_of(("todos",), todos={"type": "array", "items": todo, "maxItems": 100}),
        object_schema(("todos",), todos={"type": "array", "items": todo}),
    )
