"""Text made safe for a terminal: characters that control it, or reorder text, are escaped."""

import re

LONGEST_ERROR = 500
"""Maximum characters of an error line."""

# C0 and C1 controls except tabs and line ends, bidirectional and invisible format characters, tags, and lone surrogates.
_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff\ud800-\udfff]"
)
_LINES = re.compile(r"[\t\n]")


def fit(text: str) -> str:
    """Return a text fit for a terminal: characters that would steer it are shown as Python writes them (`\\x1b`)."""
    return _STEERING.sub(_shown, text) if not text.isascii() or _STEERING.search(text) else text


def in_line(text: str) -> str:
    """Return a text for the middle of a line: `fit`, with line ends escaped too."""
    return _LINES.sub(_shown, fit(text))


def one_line(text: str) -> str:
    """Return a text as one line safe for a terminal; the middle of a very long one is left out."""
    shown = in_line(text)
    if len(shown) <= LONGEST_ERROR:
        return shown
    # The end is kept, since it contains the remedy.
    gap = " [...] "
    last = LONGEST_ERROR // 3
    return shown[: LONGEST_ERROR - last - len(gap)] + gap + shown[-last:]


def fit_json(text: str) -> str:
    """Return a JSON text safe for a terminal: the same value, with such characters as JSON escapes."""
    return _STEERING.sub(_escaped, text)


def _shown(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
