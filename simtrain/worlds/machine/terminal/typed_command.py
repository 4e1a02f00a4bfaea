"""What a typed line asks of the terminal beside running it: a pager, lines of input, and output in the form for a screen.

A program knows whether it writes to a terminal; commands of a machine do not, so the line tells: the last command of a line that is
not redirected or piped writes to the screen.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from posixpath import basename
from shlex import quote

from simtrain.worlds.machine.terminal.pager import PagerStyle
from simtrain.worlds.machine.terminal.screen import COLUMNS, ROWS
from simtrain.worlds.machine.terminal.words import SimpleCommand, Word, calls_of, words_of

_ON_SCREEN = {
    # As GNU ls writes to a terminal.
    ("ls",): f" -C --width={COLUMNS} --quoting-style=shell-escape",
    # `log.decorate=auto` is on there.
    ("git", "log"): " --decorate",
}
_MODES = (
    "intr = ^C; quit = ^\\; erase = ^?; kill = ^U; eof = ^D; start = ^Q; stop = ^S; susp = ^Z; rprnt = ^R; werase = ^W; lnext = ^V;",
    "-parenb -parodd cs8 -cstopb cread -ignbrk -brkint icrnl ixon -ixany imaxbel iutf8",
    "opost onlcr isig icanon iexten echo echoe echok -echonl -noflsh -tostop echoctl echoke",
)
_GIT_PAGES = frozenset(("log", "diff", "show", "blame", "reflog", "branch", "tag", "shortlog"))
_SYSTEMD = frozenset(("journalctl", "systemctl"))
_GIT_STYLE = PagerStyle(short=True, stays=True)
_SYSTEMD_STYLE = PagerStyle(short=True, stays=True, chops=True, counts=True)
_READERS = frozenset(("cat", "tee", "wc", "sort", "uniq", "tac", "rev", "nl", "md5sum", "sha256sum"))
_REPEATERS = frozenset(("cat", "tee"))
_FILELESS = frozenset(("tee",))
_ENDS = frozenset(("done", "fi", "esac", "}", ")"))


@dataclass(frozen=True, slots=True)
class Input:
    """What a command takes from the keyboard: `lines` or all until the end of input. `repeats` shows each line again at once;
    `variable` lines are what `read` takes. `prompt` comes before, and with `hidden` nothing typed is shown."""

    repeats: bool = False
    reads: bool = False
    prompt: str = ""
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class TypedCommand:
    """A typed line: the script to run, the pager for what it prints, and the input that it waits for."""

    script: str
    pager: PagerStyle | None = None
    input: Input | None = None


def typed_command(line: str, history: Sequence[str], jobs: Sequence[str] = ()) -> TypedCommand:
    """Return what a line asks for; `history` are the lines typed so far, this one included, `jobs` those that `jobs` lists."""
    words = words_of(line).words
    calls = calls_of(words)
    if not calls:
        return TypedCommand(line)
    last = calls[-1]
    if words[-1].operator and words[-1].raw == "&":
        return TypedCommand(line)
    paged = None if last.piped else _paged(line, words, last)
    if paged is not None:
        return TypedCommand(_on_screen(paged[0], history, jobs, pages=True), paged[1])
    if len(calls) == 1 and not last.fed:
        asked = _input(last)
        if asked is not None:
            return TypedCommand(line, input=asked)
    return TypedCommand(_on_screen(line, history, jobs))


def _paged(line: str, words: Sequence[Word], last: SimpleCommand) -> tuple[str, PagerStyle] | None:
    name, arguments = last.words[0].value, [word.value for word in last.words[1:]]
    if name == "git":
        verbs = [word for word in arguments if not word.startswith("-")]
        if not {"--no-pager", "-P"} & set(arguments) and verbs and verbs[0] in _GIT_PAGES:
            return line, _GIT_STYLE
        return None
    if name in _SYSTEMD:
        return None if "--no-pager" in arguments else (line, _SYSTEMD_STYLE)
    if name not in ("less", "more"):
        return None
    files = [word for word in last.words[1:] if not word.value.startswith(("-", "+"))]
    letters = "".join(word[1:] for word in arguments if word.startswith("-") and not word.startswith("--"))
    style = PagerStyle(
        name=basename(files[0].value) if name == "less" and not last.fed and files else "",
        short="F" in letters,
        stays="X" in letters,
        chops="S" in letters,
        counts="M" in letters,
        numbers="N" in letters,
        at_end="+G" in arguments,
        more=name == "more",
    )
    before = line[: last.words[0].start]
    if files:
        return f"{before}cat -- {' '.join(word.raw for word in files)}", style
    place = next((index for index, word in enumerate(words) if word is last.words[0]), 0)
    if place == 0 or words[place - 1].raw not in ("|", "|&"):
        return None
    return line[: words[place - 1].start] + (" 2>&1" if words[place - 1].raw == "|&" else ""), style


def _input(call: SimpleCommand) -> Input | None:
    name, arguments = call.words[0].value, [word.value for word in call.words[1:]]
    if name == "read":
        prompt = arguments[arguments.index("-p") + 1] if "-p" in arguments[:-1] else ""
        return Input(reads=True, prompt=prompt, hidden="-s" in arguments)
    operands = [word for word in arguments if not word.startswith("-") or word == "-"]
    if name not in _READERS or ((operands and operands != ["-"]) and name not in _FILELESS):
        return None
    if "--help" in arguments or "--version" in arguments:
        return None
    return Input(repeats=name in _REPEATERS and not call.piped and not any(word.startswith("-") for word in arguments))


def _on_screen(line: str, history: Sequence[str], jobs: Sequence[str], *, pages: bool = False) -> str:
    """Return a line whose commands write as they do to a terminal."""
    words = words_of(line).words
    for word, following in pairwise(words):
        if word.raw in _ENDS and following.operator and following.raw.startswith(("|", ">")) and following.raw != "||":
            return line
    edits: list[tuple[int, int, str]] = []
    for call in calls_of(words):
        names = tuple([word.value for word in call.words[:2]])
        for known, options in _ON_SCREEN.items():
            if (not call.piped or (pages and known[0] == "git")) and names[: len(known)] == known:
                end = call.words[len(known) - 1].end
                edits.append((end, end, options))
        start, end = call.words[0].start, call.words[-1].end
        if names[:1] == ("history",) and len(call.words) < 3:
            edits.append((start, end, _history(history, names[1:])))
        if names[:1] in (("tty",), ("stty",)) and not call.fed:
            edits.append((start, end, _of_terminal(tuple(word.value for word in call.words))))
        if names == ("jobs",):
            edits.append((start, end, _printing(jobs)))
    for start, end, text in sorted(edits, reverse=True):
        line = line[:start] + text + line[end:]
    return line


def _of_terminal(words: tuple[str, ...]) -> str:
    """Return a command that prints what `tty` and `stty` say at a terminal; what would set it up anew has no effect."""
    speed = "speed 38400 baud;"
    told = {"tty": "/dev/pts/0", "stty size": f"{ROWS} {COLUMNS}", "stty": f"{speed} line = 0;"}
    if words in (("stty", "-a"), ("stty", "--all")):
        return _printing([f"{speed} rows {ROWS}; columns {COLUMNS}; line = 0;", *_MODES])
    text = told.get(" ".join(words))
    return _printing([] if text is None else [text])


def _history(history: Sequence[str], arguments: Sequence[str]) -> str:
    """Return a command that prints the history, or its last lines."""
    if arguments == ("-c",) or (arguments and not arguments[0].isdigit()):
        return f"history {quote(arguments[0])}"
    lines = [f"{number:>5}  {line}" for number, line in enumerate(history, start=1)]
    shown = lines[-int(arguments[0]) :] if arguments and arguments[0] != "0" else [] if arguments else lines
    return _printing(shown)


def _printing(lines: Sequence[str]) -> str:
    return f"printf '%s\\n' {' '.join(quote(line) for line in lines)}" if lines else "true"
