"""Hasty typing: typos, missing capitals and full stops, values corrected in the middle of a text."""

import re
from collections.abc import Callable
from datetime import date, timedelta

from simtrain.perturbations.pools import texts
from simtrain.values.seeding import Stream

VALUES = re.compile(r"`[^`\n]+`|\"[^\"\n]+\"|<[^>\n]+>|\S*[\d@_]\S*|(?<=[a-z,] )[A-Z][\w\-]*")
"""The values that a task needs: quotations, figures, addresses, names within a sentence."""

_UNTOUCHED = re.compile(
    r"```.*?```|`[^`\n]+`|\"[^\"]*\"|“[^”]*”|<[^>\n]+>|\{[^}\n]*\}|^[ \t]*\|.*$|\S*[\d@_/]\S*|(?<=[a-z,] )[A-Z][\w\-]*",
    re.DOTALL | re.MULTILINE,
)
"""The parts that noise does not touch: values, and quotations, code and tables of any length."""

_WORD = re.compile(r"[A-Za-z]+")
_STARTS = re.compile(r"(?:(?<=[.!?:] )|(?<=\n)|^)[A-Z][a-z]*\b|\bI\b")
_STOPS = re.compile(r"(?<=[a-z])(?:\.(?=\s*$)|\. (?=([A-Za-z]+))|, (?=([a-z]+)))")
_CORRECTED = re.compile(r"(?<![\w.,:/#\"'(+-])(?:\d{4}-\d\d-\d\d|\d{1,5})(?![\w:/%\"')-]|[.,]\d)")
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


def outside(untouched: re.Pattern[str], text: str, change: Callable[[str], str]) -> str:
    """Return the text with a change applied to all that the pattern does not match."""
    parts: list[str] = []
    end = 0
    for kept in untouched.finditer(text):
        parts += [change(text[end : kept.start()]), kept[0]]
        end = kept.end()
    return "".join([*parts, change(text[end:])])


def with_typos(text: str, severity: float, rng: Stream) -> str:
    """Return the text with typos in common words; the share of them is the severity."""
    common = frozenset(texts("noisy_request", "common"))

    def typed(word: str) -> str:
        return _mistyped(word, rng) if word.lower() in common and rng.random() < severity else word

    return outside(_UNTOUCHED, text, lambda part: _WORD.sub(lambda match: typed(match[0]), part))


def with_omissions(text: str, severity: float, rng: Stream) -> str:
    """Return the text without some of its filler words."""
    fillers = "|".join(texts("noisy_request", "fillers"))
    found = re.compile(rf"\b(?:{fillers})\b ", re.IGNORECASE)
    return outside(
        _UNTOUCHED, text, lambda part: found.sub(lambda match: "" if rng.random() < severity else match[0], part)
    )


def with_lazy_shift(text: str, severity: float, rng: Stream) -> str:
    """Return the text without some capitals at the start of sentences (but not of names) and without some punctuation."""
    # Only listed words lose their capital: any other word at the start of a sentence may be a name.
    starts = frozenset(texts("noisy_request", "starts"))
    common = starts | frozenset(texts("noisy_request", "common"))

    def stopped(match: re.Match[str]) -> str:
        following = match[1] or match[2]
        if (following is not None and following.lower() not in common) or rng.random() >= severity:
            return match[0]
        return "" if following is None else rng.choose((" ", ".. ", ", ")) if match[1] else " "

    def lowered(match: re.Match[str]) -> str:
        return match[0].lower() if match[0].lower() in starts and rng.random() < severity else match[0]

    return outside(_UNTOUCHED, text, lambda part: _STARTS.sub(lowered, _STOPS.sub(stopped, part)))


def with_correction(text: str, severity: float, rng: Stream) -> str:
    """Return the text with one date or number first written wrong and corrected at once; if it has none, with a
    second thought.
    """
    if rng.random() >= severity:
        return text
    quoted = [
        span.span()
        for span in re.finditer(r"`[^`]*`|\"[^\"]*\"|“[^”]*”|<[^>\n]+>|\{[^}\n]*\}|^[ \t]*\|.*$", text, re.M)
    ]
    found = [
        match
        for match in _CORRECTED.finditer(text)
        if not any(start <= match.start() < end for start, end in quoted) and not match[0].startswith("0")
    ]
    for match in rng.shuffled(found):
        wrong = _slip(match[0], rng)
        # A wrong value that the task also uses elsewhere would leave open which one is meant.
        if wrong is not None and wrong not in text:
            form = rng.choose(texts("noisy_request", "corrections"))
            return text[: match.start()] + form.format(wrong=wrong, right=match[0]) + text[match.end() :]
    return f"{text.rstrip()} {rng.choose(texts('noisy_request', 'second_thoughts'))}"


def _slip(value: str, rng: Stream) -> str | None:
    """Return another day of the same week, or another last digit; None if the value is not a day of the calendar."""
    if "-" not in value:
        return (
            value[:-1] + str((int(value[-1]) + rng.integer(1, 8)) % 10)
            if value[:-1]
            else str(int(value) + rng.integer(1, 2))
        )
    try:
        return (date.fromisoformat(value) + timedelta(days=rng.choose((-2, -1, 1, 2)))).isoformat()
    except (ValueError, OverflowError):
        return None


def _mistyped(word: str, rng: Stream) -> str:
    """Return the word with a readable typo: two inner letters swapped, one doubled or left out, or a neighbouring key hit."""
    if len(word) < 3:
        return word
    place = rng.integer(1, len(word) - 2)
    before, letter, after = word[:place], word[place], word[place + 1 :]
    match rng.choose(("swap", "double", "drop", "neighbour", "beside")):
        case "swap" if after[0] != letter:
            return f"{before}{after[0]}{letter}{after[1:]}"
        case "drop" if len(word) > 3:
            return f"{before}{after}"
        case "neighbour":
            return f"{before}{rng.choose(_neighbours(letter))}{after}"
        case "beside":
            return f"{before}{letter}{rng.choose(_neighbours(letter))}{after}"
        case _:
            return f"{before}{letter}{letter}{after}"


def _neighbours(letter: str) -> str:
    """Return the letters beside a key in its row."""
    row = next((row for row in _ROWS if letter.lower() in row), letter)
    place = row.index(letter.lower()) if letter.lower() in row else 0
    return row[max(place - 1, 0) : place] + row[place + 1 : place + 2] or letter
