"""The history of typed lines: how the lines of one command become one, and `!` in a line.

Rules: bash(1), "HISTORY EXPANSION" and the option `cmdhist`.
"""

import re
from collections.abc import Sequence

from simtrain.worlds.machine.terminal.words import words_of

_CONTINUES = re.compile(r"(?:(?:^|[\s;])(?:do|then|else|in)|[{(|&;])\s*$")
_EVENT = re.compile(
    r"!(?:(?P<last>!)|(?P<word>[$^*])|(?P<number>-?\d+)|\?(?P<within>[^?\n]+)\??"
    r"|(?P<begin>[A-Za-z_./~][^\s;|&()<>\"'$!]*))"
)


class NoSuchEvent(Exception):
    """No line of the history fits: the text is what was asked for."""


def joined(lines: Sequence[str]) -> str:
    """Return the lines of one command as a line of the history."""
    whole = lines[0]
    heredoc = False
    for line in lines[1:]:
        left = words_of(whole).open
        if left == "escape":
            whole = whole[:-1] + line
        elif left in ("quote", "heredoc"):
            whole += f"\n{line}"
            heredoc = heredoc or left == "heredoc"
        else:
            whole += (" " if _CONTINUES.search(whole) else "; ") + line
    return f"{whole}\n" if heredoc else whole


def expanded(line: str, history: Sequence[str]) -> str:
    """Return a line with lines of the history in place of `!!`, `!$`, `!3`, `!-2`, `!text`. Raises NoSuchEvent."""
    if "!" not in line:
        return line
    parts: list[str] = []
    at = 0
    quoted = ""
    while at < len(line):
        letter = line[at]
        if letter == "\\" and quoted != "'":
            parts.append(line[at : at + 2])
            at += 2
            continue
        if letter in "'\"" and quoted in ("", letter):
            quoted = "" if quoted else letter
        found = _EVENT.match(line, at) if letter == "!" and quoted != "'" else None
        if found is None:
            parts.append(letter)
            at += 1
        else:
            parts.append(_meant(found, history))
            at = found.end()
    return "".join(parts)


def _meant(found: re.Match[str], history: Sequence[str]) -> str:
    line: str | None
    if found["number"]:
        number = int(found["number"])
        place = number - 1 if number > 0 else len(history) + number
        line = history[place] if 0 <= place < len(history) else None
    elif found["begin"]:
        line = next((one for one in reversed(history) if one.startswith(found["begin"])), None)
    elif found["within"]:
        line = next((one for one in reversed(history) if found["within"] in one), None)
    else:
        line = history[-1] if history else None
    if line is None:
        raise NoSuchEvent(found[0])
    if not found["word"]:
        return line
    words = [word.raw for word in words_of(line).words] or [""]
    return {"$": words[-1], "^": words[1] if len(words) > 1 else "", "*": " ".join(words[1:])}[found["word"]]
