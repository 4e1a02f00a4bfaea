"""Scripts of bash in files that start jobs in the background. The engine would run each job to its end before the next line, in no time of
its own, and without counting processes; so such a script is read here, and its jobs are marked as those of a command line are."""

import re

from simtrain.worlds.machine.background import WAITING, marked
from simtrain.worlds.machine.invocation import Invocation, Result, quoted

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
    text = marked(content.decode(errors="replace"))
    # Before the first line, so that lines in errors count as they do in the file.
    before = WAITING if "wait" in text else ""
    return call.run(f"bash -c {quoted([before + text, call.name, *call.arguments])}", stdin=call.stdin)
