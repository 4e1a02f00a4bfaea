"""Text of cells as strict scoring compares it: without markup, case and white space."""

import html
import re
import unicodedata
from typing import Final

MISSING: Final = frozenset(
    {"", "n/a", "na", "none", "null", "nan", "unknown", "-", "–", "—", "--", "?", "无", "未知", "不详"}
)
"""Folded texts of cells that state the absence of a value."""

_LINK = re.compile(r"""!?\[([^\[\]]*)\]\((?:[^()\s]|\([^()\s]*\))*(?:\s+(?:"[^"]*"|'[^']*'))?\)""")
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
_NOTE = re.compile(r"\[\^?\d{1,3}\]")
_UNSEEN = re.compile(r"[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")
_STRESSED = re.compile(r"(_{1,3}|~~)(?=\S)(.*\S)\1")
_AROUND = " \t\r\n\"'“”‘’«»`"


def plain(text: str) -> str:
    """Return a cell's text without Markdown emphasis, links, footnote marks, HTML tags, quotes around it, and signs that nobody sees."""
    bare = _TAG.sub(" ", _NOTE.sub("", _LINK.sub(r"\1", _UNSEEN.sub("", html.unescape(text)))))
    # NFKC: full-width digits and letters compare as plain ones.
    line = " ".join(unicodedata.normalize("NFKC", bare.replace("*", "").replace("`", "")).split()).strip(_AROUND)
    stressed = _STRESSED.fullmatch(line)
    return line if stressed is None else stressed[2].strip(_AROUND)


def folded(text: str) -> str:
    """Return a cell's plain text without case and white space: what two cells share that read the same."""
    return "".join(plain(text).casefold().split())


def is_missing(text: str) -> bool:
    """True if a cell states the absence of a value."""
    return folded(text) in MISSING
