"""tail -f: the end of files, and what is written to them while time passes.

A function of the shell stands before a script that follows (`FUNCTION`): the engine's tail prints the end, the commands here the rest.
"""

import re
from dataclasses import dataclass, field

from simtrain.worlds.machine.commands.process_table import processes
from simtrain.worlds.machine.commands.sleep import STOPPED, interval
from simtrain.worlds.machine.invocation import Invocation, Result, quoted

START, SIZES, MORE = "_tail_start", "_tail_sizes", "_tail_more"
FUNCTION = (
    f'tail() {{ local _words _sizes; _words=$({START} "$@") || {{ command tail "$@"; return; }}; eval "command tail $_words"; '
    f'while :; do _sizes=$({SIZES} "$@"); {MORE} "$_sizes" "$@"; '
    f"case $? in 0) ;; {STOPPED}) exit {STOPPED};; 3) return 0;; *) return 1;; esac; done; }}; "
)
"""For the beginning of the first line of a script that follows a file."""
_FOLLOWS = re.compile(r"\btail\b[^|;&\n]*\s-(?:[\dqvznc]*[fF]|-follow)")
_OLD = re.compile(r"-(\d+)([fF])")
_ENDED = 3
_LONGEST = 3600.0
"""Most seconds that is waited where no call has an end."""
_SHORTEST = 0.1
"""Least seconds between two looks: each costs, and none is stopped in the middle."""


def follows(script: str) -> bool:
    """True if a script may follow a file."""
    return "tail" in script and _FOLLOWS.search(script) is not None


@dataclass(slots=True)
class _Words:
    """A command line of tail: what is left of it without the following, and how it follows."""

    plain: list[str] = field(default_factory=list[str])
    files: list[str] = field(default_factory=list[str])
    follow: bool = False
    retry: bool = False
    quiet: bool = False
    pause: float = 1.0
    process: int | None = None


def _read(arguments: tuple[str, ...]) -> _Words:
    found, rest = _Words(), list(arguments)
    while rest:
        word = rest.pop(0)
        name, _, value = word.partition("=")
        old = _OLD.fullmatch(word)
        if word == "--":
            found.files += rest
            break
        if old is not None:
            found.plain += ["-n", old[1]]
            found.follow, found.retry = True, found.retry or old[2] == "F"
        elif name in ("--follow", "--retry"):
            found.follow, found.retry = found.follow or name == "--follow", found.retry or name == "--retry"
        elif name == "--pid":
            found.process = int(value) if value.isdigit() else None
        elif name == "--sleep-interval":
            found.pause = interval(value) or found.pause
        elif word.startswith("--") or word == "-" or not word.startswith("-"):
            (found.plain if word.startswith("--") else found.files).append(word)
        else:
            _read_letters(found, word[1:], rest)
    return found


def _read_letters(found: _Words, letters: str, rest: list[str]) -> None:
    for place, letter in enumerate(letters):
        if letter in "fF":
            found.follow, found.retry = True, found.retry or letter == "F"
        elif letter in "ncs":
            value = letters[place + 1 :] or (rest.pop(0) if rest else "")
            if letter == "s":
                found.pause = interval(value) or found.pause
            else:
                found.plain += [f"-{letter}", value]
            return
        else:
            found.quiet = found.quiet or letter == "q"
            found.plain.append(f"-{letter}")


def tail_start(call: Invocation) -> Result:
    """Print the words of a tail that prints the end of the files; exit code 1 if it follows none."""
    found = _read(call.arguments)
    return Result(quoted([*found.plain, "--", *found.files])) if found.follow else Result(exit_code=1)


def tail_sizes(call: Invocation) -> Result:
    """Print the sizes of the files; -1 for one that is not there."""
    return Result(
        " ".join(str(len(text) if text is not None else -1) for _, text in _contents(call, _read(call.arguments)))
    )


def _contents(call: Invocation, found: _Words) -> list[tuple[str, bytes | None]]:
    files = call.files
    paths = [(name, call.path(name)) for name in found.files]
    return [
        (name, files.read(path) if files.exists(path) and not files.is_directory(path) else None)
        for name, path in paths
    ]


def tail_more(call: Invocation) -> Result:
    """Wait until one of the files differs in size, and print what is new. Another exit code than 0 says that the following is over."""
    found, machine = _read(call.arguments[1:]), call.machine
    sizes = [int(size) for size in call.arguments[0].split()]
    if found.files in ([], ["-"]):
        # A pipe has an end.
        return Result(exit_code=_ENDED)
    if not found.retry and all(size < 0 for size in sizes):
        return Result(stderr="tail: no files remaining\n", exit_code=1)
    ends = call.moment + _LONGEST if machine.deadline is None else machine.deadline
    while True:
        call.sleep(max(found.pause, _SHORTEST))
        if machine.jobs.cut:
            return Result(exit_code=STOPPED)
        if call.moment >= ends:
            return Result(exit_code=1)
        output, errors = "", ""
        for (name, text), before in zip(_contents(call, found), sizes, strict=True):
            if text is None or len(text) == before:
                continue
            if len(text) < before:
                errors += f"tail: {name}: file truncated\n"
            heading = f"\n==> {name} <==\n" if len(sizes) > 1 and not found.quiet else ""
            output += heading + text[before if 0 <= before < len(text) else 0 :].decode(errors="replace")
        if output or errors:
            return Result(output, errors)
        if found.process is not None and all(one.pid != found.process for one in processes(call)):
            return Result(exit_code=_ENDED)
