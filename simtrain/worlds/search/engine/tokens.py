"""Words as the full-text index sees them: those of SQLite's tokenizer `unicode61 remove_diacritics 2`, which is asked itself."""

import re
import sqlite3
from functools import cache, lru_cache
from threading import Lock

# In folded text every sign that belongs to no word is ASCII: ASCII letters and digits, and anything beyond ASCII, are words.
_WORD = re.compile(r"[^\x00-/:-`{-\x7f]+")
_SEVEN_BITS = bytes(range(128))
_asking = Lock()


def tokens(text: str) -> list[str]:
    """Return the words of a text, folded, in order."""
    return _WORD.findall(folded(text))


def folded(text: str) -> str:
    """Return a text in lower case without diacritics. Characters beyond ASCII that belong to no word become spaces."""
    if text.isascii():
        return text.lower()
    # bytes.lower() lowers ASCII only but is several times faster than str.lower(); the few other letters follow one by one.
    return folded_bytes(text.encode(errors="surrogatepass")).decode(errors="surrogatepass")


def folded_bytes(text: bytes) -> bytes:
    """Return a UTF-8 text folded, as `folded` does."""
    lowered = text.lower()
    if not lowered.isascii():
        for letter, plain in _letters(lowered.translate(None, _SEVEN_BITS)):
            lowered = lowered.replace(letter, plain)
    return lowered


def whole(word: str) -> re.Pattern[bytes]:
    """Return a pattern that finds a whole word in a folded UTF-8 text; the word is folded too."""
    # The lookbehind comes after the word: the literal prefix then lets `re` search fast.
    return re.compile(rb"%b(?![0-9a-z\x80-\xff])(?<![0-9a-z\x80-\xff]%b)" % (word.encode(), word.encode()))


@lru_cache(maxsize=20_000)
def _letters(text: bytes) -> tuple[tuple[bytes, bytes], ...]:
    """Return the distinct letters of a text, each with its folded form."""
    found = sorted(set(text.decode(errors="surrogatepass")))
    return tuple((letter.encode(errors="surrogatepass"), _plain(letter).encode()) for letter in found)


@lru_cache(maxsize=20_000)
def _plain(letter: str) -> str:
    """Return a non-ASCII letter as the index folds it: a plain letter, nothing for a combining mark, a space for a separator."""
    if "\ud800" <= letter <= "\udfff":
        return " "
    # SQLite's own tables decide. Python's unicodedata knows newer letters and folds some of them otherwise.
    with _asking:
        index = _index()
        index.execute("delete from texts")
        index.execute("insert into texts values (?)", (f"a{letter}a",))
        words = index.execute("select term from words order by offset").fetchall()
    return words[0][0][1:-1] if len(words) == 1 else " "


@cache
def _index() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection.execute("create virtual table texts using fts5 (body, tokenize='unicode61 remove_diacritics 2')")
    connection.execute("create virtual table words using fts5vocab (texts, instance)")
    return connection
