"""Scripts of bash in files that start jobs in the background. The engine would run each job to its end before the next line, in no time of
its own, and without counting processes; so such a script is read here, and its jobs are marked as those of a command line are."""

import re

from simtrain.worlds.machine.accounts import READ
from simtrain.worlds.machine.background import WAITING, marked
from simtrain.worlds.machine.invocation import Invocation, Result, paths_of, quoted

FORKS, FORKING = "_bash_forks", "_bash_forking"
FUNCTIONS = "".join(
    f'{path}() {{ if [ -n "$({FORKS} "$@")" ]; then {FORKING} "$@"; else command {name} "$@"; fi; }}; '
    for name in ("bash", "sh")
    for path in paths_of(name)
)
"""For the beginning of the first line of a script that may call a bash whose script starts jobs."""
_CALLS = re.compile(r"(?:^|[\s;&|(])(?:(?:/usr)?/bin/)?(?:bash|sh)\s+[^\s;&|)]")
_WITH_VALUE = ("-o", "+o", "-O", "+O", "--rcfile", "--init-file")
LONGEST = 20_000
"""Most bytes of a script that is looked at."""
_AMPERSAND = re.compile(rb"(?<![&<>|\\])&(?![&>])")
_NONE = re.compile(rb"\x00|\A(?:\x7fELF|<)")


def may_fork(content: bytes) -> bool:
    """True if a file may be a script that starts jobs: cheap, and true for other texts with a `&` as well."""
    return len(content) <= LONGEST and b"&" in content and _AMPERSAND.search(content) is not None


def forks(content: bytes) -> bool:
    """True if a file is a script whose jobs can be marked."""
    if not may_fork(content) or _NONE.search(content):
        return False
    text = content.decode(errors="replace")
    return marked(text) != text


def run_forking(call: Invocation, content: bytes) -> Result:
    """Run such a script in a child process, called by its name."""
    return _run(call, [], content.decode(errors="replace"), [call.name, *call.arguments])


def _run(call: Invocation, options: list[str], text: str, words: list[str]) -> Result:
    text = marked(text)
    # Before the first line, so that lines in errors count as they do in the file.
    before = WAITING if "wait" in text else ""
    # Not by the function, which would lead here again.
    return call.run(f"command bash {quoted([*options, '-c', before + text, *words])}", stdin=call.stdin)


def calls_bash(script: str) -> bool:
    """True if a script may call a bash with a script of its own."""
    return _CALLS.search(script) is not None


def _read(call: Invocation) -> tuple[list[str], str, list[str]] | None:
    """Return options, script, and its name with its arguments, if the words of a bash name a script whose jobs can be marked."""
    rest, options = list(call.arguments), list[str]()
    while rest:
        word = rest.pop(0)
        if word in _WITH_VALUE and rest:
            options += [word, rest.pop(0)]
        elif word.startswith("-") and not word.startswith("--") and word.endswith("c") and rest:
            options += [word[:-1]] if word != "-c" else []
            text = rest.pop(0)
            return (options, text, rest) if forks(text.encode(errors="replace")) else None
        elif word.startswith(("-", "+")):
            options.append(word)
        else:
            path = call.path(word)
            if not call.files.may(READ, path) or call.files.is_directory(path):
                return None
            content = call.files.read(path)
            return (options, content.decode(errors="replace"), [word, *rest]) if forks(content) else None
    return None


def bash_forks(call: Invocation) -> Result:
    """Print something if the script of a bash starts jobs."""
    return Result("1" if _read(call) else "")


def bash_forking(call: Invocation) -> Result:
    """Run the script of a bash, whose jobs have a time of their own."""
    found = _read(call)
    return Result() if found is None else _run(call, *found)
