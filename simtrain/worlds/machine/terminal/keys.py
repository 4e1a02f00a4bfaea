"""Keystrokes as agents write them: the notation of `tmux send-keys`, turned into the characters that a keyboard sends.

A string that is the name of a key as a whole, such as `C-c`, `Enter` or `Up`, is that key. Anything else is typed letter by letter; a
newline in it is Enter. (tmux(1), "KEY BINDINGS" and `send-keys`.)
"""

import re
from collections.abc import Iterator

ENTER, TAB, ESCAPE, ERASE = "\r", "\t", "\x1b", "\x7f"
INTERRUPT, END_OF_FILE, SUSPEND, QUIT = "\x03", "\x04", "\x1a", "\x1c"
UP, DOWN, RIGHT, LEFT = "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D"
HOME, END, DELETE, PAGE_UP, PAGE_DOWN = "\x1b[1~", "\x1b[4~", "\x1b[3~", "\x1b[5~", "\x1b[6~"

_NAMED = {
    "Enter": ENTER, "Tab": TAB, "BTab": "\x1b[Z", "Escape": ESCAPE, "Space": " ", "BSpace": ERASE, "Up": UP, "Down": DOWN,
    "Left": LEFT, "Right": RIGHT, "Home": HOME, "End": END, "DC": DELETE, "Delete": DELETE, "IC": "\x1b[2~", "Insert": "\x1b[2~",
    "PPage": PAGE_UP, "PageUp": PAGE_UP, "PgUp": PAGE_UP, "NPage": PAGE_DOWN, "PageDown": PAGE_DOWN, "PgDn": PAGE_DOWN,
}  # fmt: skip
_BY_FOLDED = {name.casefold(): keys for name, keys in _NAMED.items()}
_CHORD = re.compile(r"(?P<modifier>C-|\^|M-|C-M-|M-C-)(?P<key>.)", re.DOTALL)
_KEY = re.compile(r"\x1b\[[0-9;]*[A-Za-z~]|\x1bO[A-Z]|\x1b[^\x1b]|.", re.DOTALL)


def characters(keystrokes: str) -> str:
    """Return the characters that keystrokes send."""
    named = _BY_FOLDED.get(keystrokes.casefold())
    if named is not None:
        return named
    chord = _CHORD.fullmatch(keystrokes)
    if chord is None:
        return keystrokes
    key = chord["key"]
    if chord["modifier"] != "M-":
        control = _control(key)
        # A chord that no keyboard sends is typed as it stands, as tmux does.
        if control is None:
            return keystrokes
        key = control
    return key if "M-" not in chord["modifier"] else ESCAPE + key


def _control(key: str) -> str | None:
    if key == "?":
        return ERASE
    if key == " ":
        return "\0"
    code = ord(key.upper())
    return chr(code - 64) if 64 <= code < 96 else None


def keys_in(text: str) -> Iterator[str]:
    """Yield characters one key at a time: a sequence such as that of an arrow key is one."""
    return (found[0] for found in _KEY.finditer(text))
