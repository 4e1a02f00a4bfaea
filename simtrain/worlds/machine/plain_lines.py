"""Command lines that run through once: words, quotes, pipes, and programs that call nothing else.

Such a line needs no stack of its own and no watch of its time, as long as its shell has no functions, aliases or traps.
"""

import re

from bashkit import Bash, BashError

from simtrain.worlds.machine.commands.following import follows
from simtrain.worlds.machine.commands.instead import with_ours
from simtrain.worlds.machine.commands.releases import with_answers

_PROGRAMS = frozenset(
    {
        ":", "[", "arch", "basename", "cat", "cd", "chgrp", "chmod", "chown", "cmp", "comm", "cp", "cut", "date", "df", "diff", "dirname",
        "du", "echo", "egrep", "false", "fgrep", "file", "find", "fold", "free", "grep", "groups", "head", "hostname", "id", "ln", "ls",
        "md5sum", "mkdir", "mv", "netstat", "nl", "nproc", "paste", "printenv", "printf", "ps", "pwd", "readlink", "realpath", "rev", "rm",
        "rmdir", "sha256sum", "sort", "ss", "stat", "tac", "tail", "tee", "test", "touch", "tr", "true", "tty", "uname", "uniq", "uptime",
        "wc", "which", "whoami",
    }
)  # fmt: skip
_LONGEST = 2000
LONGEST_READ = 100_000
"""Characters of a script that is read to the end beforehand: the parser calls itself for each `time` before `time`, in a stack of ours."""
# What is expanded, reckoned, nested, repeated, or runs beside the line; what calls a program; and files without an end.
_OTHER = re.compile(
    r"[$`(){}]|\[\[|(?:^|[\s;|&])[A-Za-z_]\w*(?:\[|\+?=)|<<|(?<![&>])&(?![&>])|\b(?:while|until|for|select|time|coproc)\b|-exec|-ok"
    r"|/dev/(?!null\b)|/proc/"
)
_CHANGING = frozenset(
    {".", "alias", "builtin", "command", "declare", "enable", "eval", "hash", "mapfile", "readarray", "set", "shopt", "source", "trap",
     "typeset"}
)  # fmt: skip


def is_plain(script: str, engine: Bash) -> bool:
    """True if a script is such a line. It may be false for one that is: what is quoted is looked at as if it was not."""
    if len(script) > _LONGEST or _OTHER.search(script) or follows(script) or with_ours(with_answers(script)) != script:
        return False
    try:
        read = engine.analyze(script)
    except BashError:
        return False
    return not read.is_opaque and not read.functions and _PROGRAMS.issuperset(read.command_names)


def may_change_words(script: str, engine: Bash) -> bool:
    """True if words may mean something else in its shell after a script: it may make functions, aliases or traps, or set options."""
    if len(script) > LONGEST_READ:
        return True
    try:
        read = engine.analyze(script)
    except BashError:
        return False
    hidden = read.has_dynamic_commands or read.truncated or bool(read.functions)
    return hidden or not _CHANGING.isdisjoint(read.command_names)
