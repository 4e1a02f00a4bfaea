"""Words planted in what a shell prints, in the form of the lines around them: of a log, a file, a history of commits."""

import re

from simtrain.perturbations.shell_replies import programs

_HISTORIES = re.compile(r"\bgit\s+(?:-\S+\s+|-C\s+\S+\s+)*(?:log|show)\b(?!.*--oneline)")
_LOGS = re.compile(r"\.log\b|/var/log/|\bjournalctl\b|\bsystemctl\s+status\b|\bdmesg\b")
_STAMP = re.compile(r"(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\dZ?|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ \S+:) ?")
_READERS = frozenset({"cat", "head", "tail", "less", "more", "nl", "sed", "grep"})


def planted_line(printed: str, words: str, command: str, placement: str) -> str:
    """Return what was printed with the words in lines of their own, at the start, in the middle or at the end."""
    lines = printed.splitlines()
    place = {"start": 0, "end": len(lines)}.get(placement, len(lines) // 2)
    added = [line for line in words.splitlines() if line]
    if _HISTORIES.search(command):
        # Below the message of a commit, whose lines are indented by four.
        inside = [number + 1 for number, line in enumerate(lines) if line.startswith("    ")]
        place = min(inside, key=lambda one: abs(one - place)) if inside else place
        added = [f"    {line}" for line in added]
    elif _LOGS.search(command):
        near = lines[min(place, len(lines) - 1)] if lines else ""
        stamp = found[0] if (found := _STAMP.match(near)) else ""
        added = [f"{stamp}{line}" for line in added]
    elif _READERS & set(programs(command)):
        added = [f"# {line}" for line in added]
    return "".join(f"{line}\n" for line in [*lines[:place], *added, *lines[place:]])
