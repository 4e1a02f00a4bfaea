"""Times in `printf`, `awk` and `jq`: the engine's own read the clock of the host, so each time is put in before they run.

Functions of the shell stand before them (`FUNCTIONS`); the commands here print the command line with the times in it.
"""

import re

from simtrain.worlds.machine.accounts import READ
from simtrain.worlds.machine.commands.date import written
from simtrain.worlds.machine.commands.zones import zone_named
from simtrain.worlds.machine.invocation import Invocation, Result, paths_of, quoted

PRINTF, AWK, JQ, BASH = "_printf_with_times", "_awk_with_times", "_jq_with_times", "_bash_with_times"


def _function(name: str, body: str) -> str:
    return "".join(f"{path}() {{ {body}; }}; " for path in paths_of(name))


def _with_times_if(name: str, asking: str, by: str, *, word: str = "builtin command ") -> str:
    return _function(name, f"""case "$*" in {asking}) eval "{word}{name} $({by} "$@")";; *) {word}{name} "$@";; esac""")


_NAMES = ("awk", "gawk", "mawk", "nawk", "jq", "printf")
FUNCTIONS = "".join(
    (
        _with_times_if("printf", "*'%('*')T'*", PRINTF, word="builtin "),
        *(_with_times_if(name, "*systime*|*strftime*|*srand*|*-f*", AWK) for name in _NAMES[:4]),
        _with_times_if("jq", "*now*|*-f*", JQ),
        # What is called by this word passes functions by.
        f"""command() {{ [ "$1" != -p ] || shift; case "$1" in {"|".join(path for name in _NAMES for path in paths_of(name))}) "$@";; """
        """*) builtin command "$@";; esac; }; """,
        # A shell within has no functions of the one around it.
        *(_function(name, f'eval "command {name} $({BASH} "$@")"') for name in ("bash", "sh")),
    )
)
"""For the beginning of the first line of a script that, or whose files, may ask for the time."""
_CONVERSION = re.compile(r"%(?:%|\(([^)]*)\)T|[-+ #0']*(\*|\d+)?(?:\.(\*|\d+))?[A-Za-z])")
_ASKS = re.compile(rb"%\([^)\n]*\)T|\b(?:systime|strftime|srand)\s*\(")
_LONGEST_SCRIPT = 100_000
_CALL = re.compile(r"\b(systime|strftime|srand)\s*\(")
_BUILTIN = re.compile(r"\bbuiltin\s+(?=(?:command|printf)\b)")
_DEFAULT = '"%a %b %e %H:%M:%S %Z %Y"'


def asks_for_times(text: str) -> bool:
    """True if a text may hold a printf, awk or jq that asks for the time."""
    return ")T" in text or ("now" in text and "jq" in text) or _CALL.search(text) is not None


def content_asks_for_times(content: bytes) -> bool:
    """The same for the content of a file: a shell script, or one for awk."""
    if content.startswith(b"#!") and b"now" in content and b"jq" in content:
        return True
    return (content.startswith(b"#!") or len(content) < _LONGEST_SCRIPT) and _ASKS.search(content) is not None


def without_builtin(script: str) -> str:
    """Return a script without the word `builtin` where it would pass the functions by."""
    return _BUILTIN.sub("", script)


def bash_with_times(call: Invocation) -> Result:
    """Print the words of a bash whose script asks for the time, with the functions before the script."""
    rest, words = list(call.arguments), list[str]()
    while rest:
        word = rest.pop(0)
        if word.startswith("-") and not word.startswith("--") and word.endswith("c") and rest:
            return Result(quoted([*words, word, FUNCTIONS + rest[0], *rest[1:]]))
        if not word.startswith("-"):
            path = call.path(word)
            text = call.files.read(path).decode(errors="replace") if call.files.may(READ, path) else ""
            if asks_for_times(text) and not call.files.is_directory(path):
                return Result(quoted([*words, "-c", f"{FUNCTIONS}. {quoted([path])}", word, *rest]))
            return Result(quoted([*words, word, *rest]))
        words.append(word)
    return Result(quoted(words))


def printf_with_times(call: Invocation) -> Result:
    """Print the words of a printf, with text in the place of each `%(FORMAT)T`."""
    words = list(call.arguments)
    before: list[str] = []
    if words[:1] == ["-v"]:
        before, words = words[:2], words[2:]
    form, given = (words[0], words[1:]) if words else ("", [])
    built, kept = _cycle(call, form, given)
    while given:
        text, more = _cycle(call, form, given)
        built, kept = built + text, kept + more
        if not _CONVERSION.search(form):
            break
    return Result(quoted([*before, "--", built, *kept]))


def _cycle(call: Invocation, form: str, given: list[str]) -> tuple[str, list[str]]:
    """Return the format over the next arguments, which are taken from `given`, and those that are left to printf."""
    kept: list[str] = []

    def put(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return found[0]
        if found[1] is None:
            kept.extend(given.pop(0) if given else "" for _ in range(1 + [found[2], found[3]].count("*")))
            return found[0]
        word = given.pop(0) if given else "-1"
        moment = float(int(word)) if re.fullmatch(r"\d+", word) else call.now
        text = written(found[1] or "%X", moment, zone_named(call.environment.get("TZ")))
        return text.replace("\\", "\\\\").replace("%", "%%")

    return _CONVERSION.sub(put, form), kept


def awk_with_times(call: Invocation) -> Result:
    """Print the words of an awk, with the time in each call that asks for it."""
    words: list[str] = []
    rest = list(call.arguments)
    program: list[str] = []
    while rest:
        word = rest.pop(0)
        if word == "-f" and rest:
            path = call.path(rest[0])
            if not call.files.exists(path):
                return Result(quoted(call.arguments))
            program.append(call.files.read(path).decode(errors="replace"))
            rest.pop(0)
        elif word in ("-F", "-v") and rest:
            words += [word, rest.pop(0)]
        elif word.startswith("-") and word != "-" and word != "--":
            words.append(word)
        else:
            rest.insert(0, word)
            break
    if rest[:1] == ["--"]:
        rest.pop(0)
    if not program and rest:
        program.append(rest.pop(0))
    return Result(quoted([*words, _with_times("\n".join(program), int(call.now)), *rest]))


_JQ_VALUES = {"--arg": 2, "--argjson": 2, "--slurpfile": 2, "--rawfile": 2, "--indent": 1, "-L": 1, "--seq": 0}
"""Options of jq, and how many words follow each."""


def jq_with_times(call: Invocation) -> Result:
    """Print the words of a jq, whose program begins with a definition of `now`."""
    now = int(call.now) if call.now.is_integer() else call.now
    definition = f"def now: {now}; "
    rest, words = list(call.arguments), list[str]()
    while rest:
        word = rest.pop(0)
        if word in ("-f", "--from-file") and rest:
            path = call.path(rest[0])
            if not call.files.may(READ, path) or call.files.is_directory(path):
                return Result(quoted(call.arguments))
            rest.pop(0)
            words.append(definition + call.files.read(path).decode(errors="replace"))
            break
        if word.startswith("-") and word != "-":
            count = _JQ_VALUES.get(word, 0)
            words += [word, *rest[:count]]
            del rest[:count]
            continue
        words.append(definition + word)
        break
    return Result(quoted([*words, *rest]))


def _with_times(program: str, now: int) -> str:
    at = 0
    while (found := _CALL.search(program, at)) is not None:
        end, commas = _closing(program, found.end())
        inside = program[found.end() : end].strip()
        if found[1] == "systime":
            put = str(now)
        elif found[1] == "srand":
            put = f"srand({inside or now})"
        else:
            put = f"strftime({inside or _DEFAULT}{'' if commas else f', {now}'})"
        program = program[: found.start()] + put + program[end + 1 :]
        # What is within the call may ask for the time as well.
        at = found.start() + (len(found[1]) if found[1] != "systime" else len(put))
    return program


def _closing(program: str, at: int) -> tuple[int, int]:
    """Return where the parenthesis ends that was opened before `at`, and the number of commas directly in it."""
    depth, commas, quote = 0, 0, False
    while at < len(program):
        letter = program[at]
        if quote:
            at += letter == "\\"
            quote = letter != '"'
        elif letter == '"':
            quote = True
        elif letter == "(":
            depth += 1
        elif letter == ")":
            if not depth:
                break
            depth -= 1
        elif letter == ",":
            commas += not depth
        at += 1
    return at, commas
