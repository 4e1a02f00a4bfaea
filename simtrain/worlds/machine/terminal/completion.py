"""Completion of a word by Tab: names of commands, and of files.

Rules: readline(3), `complete` and `possible-completions`; bash(1), "Programmable Completion" is left out.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from posixpath import join

from simtrain.worlds.machine.files import Files
from simtrain.worlds.machine.terminal.line_editor import LineEditor
from simtrain.worlds.machine.terminal.screen import COLUMNS, TerminalScreen, width
from simtrain.worlds.machine.terminal.session import LoginSession
from simtrain.worlds.machine.terminal.words import Word, words_of

_TO_ESCAPE = re.compile(r"""([ \t\n\\"'@<>=;|&()#$`?*\[!:{~])""")
_REDIRECTIONS = (">", ">>", "<", "&>", ">|", "<>", "<<<", "2>")
MOST_SHOWN = 100
"""Most possibilities that are listed without a question."""


@dataclass(frozen=True, slots=True)
class Completed:
    """The line after Tab, where its cursor is, and the possibilities that are left."""

    text: str
    place: int
    choices: tuple[str, ...] = ()


def complete(editor: LineEditor, state: LoginSession, screen: TerminalScreen, tabs: int) -> int:
    """Complete the word before the cursor, or list what it may be; return how often in a row Tab has changed nothing."""
    done = completed(
        editor.text,
        editor.place,
        files=state.own_files,
        directory=state.directory,
        home=state.home,
        commands=state.command_names,
    )
    if (done.text, done.place) != (editor.text, editor.place):
        editor.replace(done.text, done.place)
        return 0
    if tabs and done.choices:
        editor.leave()
        if len(done.choices) > MOST_SHOWN:
            screen.feed(f"Display all {len(done.choices)} possibilities? (y or n)\n")
        else:
            screen.feed(listed(done.choices))
        editor.redraw_below()
    return tabs + 1


def completed(
    text: str, place: int, *, files: Files, directory: str, home: str, commands: Callable[[], Iterable[str]]
) -> Completed:
    """Return a line whose word before the cursor is completed as far as it is clear."""
    before, after = text[:place], text[place:]
    word = _word_at_end(before)
    quote = word.raw[:1] if word.raw[:1] in ("'", '"') else ""
    value = word.value
    is_command = not quote and "/" not in value and _begins_command(before[: word.start])
    if is_command:
        choices = sorted({name for name in commands() if name.startswith(value)})
        folder = ""
    else:
        choices, folder = [], ""
    if not choices:
        folder = value[: value.rfind("/") + 1]
        where = join(directory, f"{home}/{folder[2:]}" if folder.startswith("~/") else folder)
        choices = _files(files, where, value[len(folder) :], only_directories=is_command)
    if not choices:
        return Completed(text, place)
    common = _common(choices)
    ending = ""
    if len(choices) == 1:
        is_directory = choices[0].endswith("/")
        ending = "" if is_directory else f"{quote} "
    inserted = folder + common
    if quote:
        shown = f"{quote}{inserted}"
    elif word.raw.startswith("~/") or not word.raw:
        shown = folder + _TO_ESCAPE.sub(r"\\\1", common)
    else:
        # What was typed stays as it was typed.
        typed = word.raw if inserted.startswith(value) else ""
        shown = typed + _TO_ESCAPE.sub(r"\\\1", inserted[len(value) :] if typed else inserted)
    if ending and after.startswith(ending):
        after = after[len(ending) :]
    line = before[: word.start] + shown + ending
    return Completed(line + after, len(line), tuple(choices) if len(choices) > 1 else ())


def _common(names: list[str]) -> str:
    """Return what all names begin with; they are sorted, so the first and the last decide."""
    first, last = names[0], names[-1]
    length = next(
        (place for place, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]),
        min(len(first), len(last)),
    )
    return first[:length]


def _word_at_end(before: str) -> Word:
    words = words_of(before).words
    if words and words[-1].end == len(before) and not words[-1].operator:
        return words[-1]
    return Word(len(before), len(before), "", "")


def _begins_command(before: str) -> bool:
    words = words_of(before).words
    if not words:
        return True
    last = words[-1]
    return (last.operator and last.raw not in _REDIRECTIONS) or last.raw in (
        "do",
        "then",
        "else",
        "!",
        "{",
        "sudo",
        "time",
    )


def _files(files: Files, folder: str, begin: str, *, only_directories: bool) -> list[str]:
    """Return names in a folder that begin with a text; those of directories end with a slash."""
    try:
        names = files.names(folder)
    except OSError:
        return []
    found: list[str] = []
    for name in names:
        if not name.startswith(begin) or (name.startswith(".") and not begin):
            continue
        is_directory = files.is_directory(join(folder, name))
        if is_directory or not only_directories:
            found.append(f"{name}/" if is_directory else name)
    return sorted(found)


def listed(choices: Iterable[str]) -> str:
    """Return possibilities in columns, as readline lists them."""
    names = list(choices)
    widest = max(width(name) for name in names) + 2
    limit = COLUMNS // widest
    if limit != 1 and limit * widest == COLUMNS:
        limit -= 1
    limit = max(1, limit)
    rows = -(-len(names) // limit)
    lines: list[str] = []
    for row in range(rows):
        lines.append("".join(name + " " * (widest - width(name)) for name in names[row::rows]).rstrip())
    return "".join(f"{line}\n" for line in lines)
