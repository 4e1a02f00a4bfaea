"""What a script left in the engine, in the words of bash: bashkit says some things of itself, and tells other times and names."""

import re
from collections.abc import Sequence

from bashkit import ExecResult

from simtrain.worlds.machine.background import APART, BEGIN, MARKED, WAITING
from simtrain.worlds.machine.commands.following import FUNCTION as FOLLOWING
from simtrain.worlds.machine.commands.ping import FUNCTION as PINGING
from simtrain.worlds.machine.commands.releases import as_typed, without_engine
from simtrain.worlds.machine.commands.time_words import FUNCTIONS
from simtrain.worlds.machine.engine import ENDINGS, Ending, Finished
from simtrain.worlds.machine.error_words import in_gnu_words
from simtrain.worlds.machine.forking_scripts import FUNCTIONS as FORKING
from simtrain.worlds.machine.printed import Printed

CANCELLED = "cancelled"
"""What is in the error of a script that was stopped."""
_ENDINGS: tuple[tuple[str, Ending], ...] = (
    ("command count", "timeout"),
    ("loop iteration", "timeout"),
    ("timeout", "timeout"),
    (CANCELLED, "timeout"),
    ("depth", "recursion"),
    ("bytes", "memory"),
    ("memory", "memory"),
    ("exceeded", "timeout"),
)
_SYNTAX = re.compile(r"parse error(?: at line (\d+), column \d+)?: (?:syntax error: )?(.*)", re.DOTALL)
# What bashkit adds for language models, where bash says only that there is no such command.
_HINT = re.compile(r"^(\S+: .*: command not found)\. .*$", re.MULTILINE)
# `time` of the engine measures on the host.
_TIME = re.compile(r"^real\t\d+m[\d.]+s\nuser\t.*\nsys\t.*$", re.MULTILINE)
_PLAIN_TIME = re.compile(r"^real \d+\.\d\d\nuser unavailable\nsys unavailable$", re.MULTILINE)
# What bashkit says of itself, in words of its own.
_SELF = re.compile(
    r"the `e' command is not available: Bashkit [^\n]*|the `e' option to `s' is not available: Bashkit [^\n]*"
)
_ASIDE = re.compile(r" \([^()\n]*bashkit[^()\n]*\)| \(L-MAKE-\d+\)| \(max \d+ background jobs, \d+ nested\)")
# What is put before a script, as `history` would tell it.
_BEFORE = re.compile(
    rf"RANDOM=\d+ EPOCHSECONDS=\d+; (?:{re.escape(FUNCTIONS)})?(?:{re.escape(WAITING)})?(?:{re.escape(FOLLOWING)})?"
    rf"(?:{re.escape(PINGING)})?(?:{re.escape(FORKING)})?(?:EPOCHREALTIME=[\d.]+; )?(?:_SRANDOM=\d+; )?(?:\(exit \d+\); )?"
)
# Of names that its rules for paths refuse, and of sizes.
_REFUSED = re.compile(r"unsafe character U\+[0-9A-F]+ in path component '(?:[^']|'(?!\n))*'")
_TOO_LARGE = re.compile(r"^truncate: target size (\d+) exceeds VFS limit \(\d+ bytes\)$", re.MULTILINE)
_SANDBOXED = "e/r/w commands disabled in sandbox mode"
# bashkit's own words about its limits, which are no words of a machine.
_LIMIT = re.compile(r"^(?:\S+: (?:line \d+: )?)?(?:resource limit exceeded: .*|execution cancelled)\n", re.MULTILINE)


def finished_of(
    result: ExecResult, shown: Sequence[Printed], passed: float, script: str, *, mixed: bool, merged: bool
) -> Finished:
    """Return what a script left.

    `mixed` says that `shown` is not what the engine tells at the end, or in another order; `merged` that errors are written to stdout.
    """
    stdout, stderr = (
        "".join(piece.stdout for piece in shown),
        in_words_of_bash("".join(piece.stderr for piece in shown)),
    )
    screen = _timed(in_words_of_bash("".join(piece.stdout + piece.stderr for piece in shown)), passed)
    error, code = result.error, result.exit_code
    if error is None:
        if not mixed:
            stdout = in_gnu_words(result.stdout, script, output=True) if merged else result.stdout
            stdout, stderr = without_engine(stdout), in_words_of_bash(in_gnu_words(result.stderr, script))
        return Finished(_as_typed(stdout), _timed(stderr, passed), screen, code)
    wrong = _SYNTAX.fullmatch(error)
    if wrong is not None:
        what = wrong[2] if wrong[2].startswith(("syntax error", "unexpected EOF")) else f"syntax error: {wrong[2]}"
        text = f"bash: line {wrong[1] or 1}: {what}\n"
        return Finished(result.stdout, text, screen + text, 2)
    ending = _ending(error)
    if not ending:
        # Some commands of the engine end the script with a file that they cannot write.
        text = f"bash: {error.removeprefix('io error: ')}\n"
        stderr, screen = stderr + text, screen + text
    # A script that bashkit stops loses what it printed: what was shown is all that there is.
    return Finished(stdout, stderr, screen, code, ending)


def told(finished: Finished, ending: Ending) -> Finished:
    """Return what a script left, with what a shell says of one that ended like this."""
    if not ending:
        return finished
    code, words = ENDINGS[ending]
    return Finished(finished.stdout, finished.stderr + words, finished.screen + words, code, ending)


def _timed(text: str, passed: float) -> str:
    taken = f"{int(passed // 60)}m{passed % 60:.3f}s"
    if "unavailable" in text:
        text = _PLAIN_TIME.sub(f"real {passed:.2f}\nuser 0.00\nsys 0.00", text)
    return _TIME.sub(f"real\t{taken}\nuser\t0m0.000s\nsys\t0m0.000s", text) if "real\t" in text else text


def _as_typed(text: str) -> str:
    text = as_typed(text)
    if BEGIN in text:
        text = MARKED.sub(r"\1 &", text).replace(APART, "")
    return _BEFORE.sub("", text).replace("$_SRANDOM", "$SRANDOM") if "EPOCHSECONDS=" in text else text


def in_words_of_bash(text: str) -> str:
    """Return what was printed as bash would have worded it."""
    text = _as_typed(text)
    # Each is looked for by a plain word first: most output has none of them.
    text = without_engine(text)
    if "ashkit" in text or "L-MAKE" in text or "(max " in text:
        text = _ASIDE.sub("", _SELF.sub(_SANDBOXED, text))
    if "unsafe character" in text or "VFS limit" in text:
        text = _TOO_LARGE.sub(
            r"truncate: failed to truncate at \1 bytes: File too large", _REFUSED.sub("Invalid argument", text)
        )
    if "command not found" in text:
        text = _HINT.sub(r"\1", text)
    if "exceeded" in text or CANCELLED in text:
        text = _LIMIT.sub("", text)
    return text.replace(": io error: ", ": ")


def _ending(error: str) -> Ending:
    for sign, ending in _ENDINGS:
        if sign in error:
            return ending
    return ""
