"""Permission bits as chmod reads and writes them: `755`, `u+x,go-w`, `a=rX`."""

import re

_CLAUSE = re.compile(r"([ugoa]*)((?:[-+=](?:[rwxXst]*|[ugo]))+)")
_ACTION = re.compile(r"([-+=])([rwxXst]*|[ugo])")
_SHIFTS = {"u": 6, "g": 3, "o": 0}
_BITS = {"r": 4, "w": 2, "x": 1}


def new_mode(text: str, before: int, *, directory: bool, umask: int) -> int | None:
    """Return the bits that a mode makes of those before; None for a text that is no mode."""
    if re.fullmatch("[0-7]{1,5}", text):
        number = int(text, 8)
        if number > 0o7777:
            return None
        # Short octal modes leave the set-group bits of directories alone.
        return number | (before & 0o6000) if directory and len(text) < 5 else number
    mode = before
    for clause in text.split(","):
        found = _CLAUSE.fullmatch(clause)
        if found is None:
            return None
        who = found[1].replace("a", "ugo") or ""
        for sign, letters in _ACTION.findall(found[2]):
            mode = _applied(mode, who, sign, letters, directory=directory, umask=umask)
    return mode


def _applied(mode: int, who: str, sign: str, letters: str, *, directory: bool, umask: int) -> int:
    mask = 0
    given = 0
    for one in dict.fromkeys(who or "ugo"):
        shift = _SHIFTS[one]
        mask |= 7 << shift
        if letters in ("u", "g", "o"):
            bits = mode >> _SHIFTS[letters] & 7
        else:
            bits = sum(_BITS[letter] for letter in dict.fromkeys(letters) if letter in _BITS)
            if "X" in letters and (directory or mode & 0o111):
                bits |= 1
            if "s" in letters and one in "ug":
                given |= 0o4000 if one == "u" else 0o2000
        given |= bits << shift
    if "t" in letters and (not who or "o" in who or len(who) == 3):
        given |= 0o1000
    if not who:
        given &= ~umask
    if sign == "+":
        return mode | given
    if sign == "-":
        return mode & ~given
    return mode & ~mask | given


def letters_of(mode: int) -> str:
    """Return nine letters such as `rwxr-xr-x`."""
    bits = ["rwx"[place % 3] if mode >> (8 - place) & 1 else "-" for place in range(9)]
    for bit, place, letter in ((0o4000, 2, "s"), (0o2000, 5, "s"), (0o1000, 8, "t")):
        if mode & bit:
            bits[place] = letter if bits[place] == "x" else letter.upper()
    return "".join(bits)
