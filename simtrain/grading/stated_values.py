"""Read plain sentences: whether one states the right value and no other, which number it has, which items it lists."""

import re
from collections.abc import Sequence

from simtrain.values.comparing import text_of
from simtrain.values.normal_text import normal_text
from simtrain.values.numerals import read_number
from simtrain.values.types import JsonValue

LONGEST = 600
"""Characters. A longer text is not read as the statement of one value."""

# Denials and hedges: a sentence with one of them does not commit to a value, so naming several must earn nothing.
_DENIED = re.compile(
    r"\b(?:not|never|no longer|nor|neither|either|or|maybe|perhaps|possibly|probably|might|unless|guess|unsure|uncertain)\b|n[’']t\b",
    re.IGNORECASE,
)
# Any word with a digit: identifiers, dates, amounts.
_CODE = re.compile(r"(?<!\w)[\w:./@+#-]*\d[\w:./@+#-]*")
# Names: capitalised words that do not merely begin a sentence.
_CAPITAL = re.compile(r"(?<![.!?:\n])(?<![.!?:] )(?<!^)\b[A-Z][\w’'-]+(?: (?:of |the |and )?[A-Z][\w’'-]+)*")
_RUN = re.compile(r"(?<![\w.])[-−+]?[$€£¥]?\d[\d.,:/\-–]*")
_INTRODUCED = re.compile(r"(?:\b(?:is|are|was|were|be)|[:=])\s+(?:called |named )?[\"'`*“„]*$", re.IGNORECASE)
_COMMITTED = re.compile(r"\s*(?:and |so )?(?:the|my) (?:answer|result)\b", re.IGNORECASE)
_AROUND = " \t\n.,;:!?*_`'\"“”„"
_BULLET = re.compile(r"^[ \t]*(?:[-*•–]|\d{1,3}[.)])[ \t]+(.+)$", re.MULTILINE)
_LEAD = re.compile(r"^.*(?::|\b(?:is|are|was|were))\s+", re.DOTALL | re.IGNORECASE)
_AND = re.compile(r",? and ", re.IGNORECASE)
_NOTHING = re.compile(
    r"^(?:there (?:is|are|was|were) (?:none|nothing|no\b[^,;:]*)|(?:the answer(?: is|:) )?(?:none|nothing))[.!]?$",
    re.IGNORECASE,
)


def states(text: str, gold: str, *, prompt: str, exact: bool = False) -> bool:
    """Return True if a sentence states a value: it contains the value, denies nothing, and names no other value of its kind.

    Other values that the prompt names are ignored, unless the right one is among them. `exact` keeps case and white space.
    """
    sentence, wanted, question = (
        (text, gold.strip(), prompt) if exact else (_joined(text), _joined(gold), _joined(prompt))
    )
    if len(sentence) > LONGEST or not wanted:
        return False
    places = list(re.finditer(rf"(?<!\w){re.escape(wanted)}(?!\w)", sentence, 0 if exact else re.IGNORECASE))
    rest = re.sub(rf"(?<!\w){re.escape(wanted)}(?!\w)", "\0", sentence, flags=0 if exact else re.IGNORECASE)
    if not places or _DENIED.search(rest):
        return False
    # If the prompt itself names the right value, it is a choice between named values: naming another one then counts.
    known = "" if _holds(question, wanted) else question
    # A rival is of the same form: beside `C0042` another `C0017` counts, an amount or a year does not.
    if any(sign.isdigit() for sign in wanted):
        rivals = [code.strip(_AROUND) for code in _CODE.findall(rest)]
        return not any(_form(rival) == _form(wanted) and not _holds(known, rival) for rival in rivals)
    if wanted[0].isupper():
        return not any(not _holds(known, rival) for rival in _CAPITAL.findall(rest))
    # A plain word can occur anywhere by chance: the sentence must end with it.
    before, after = sentence[: places[-1].start()], sentence[places[-1].end() :]
    if after.strip(_AROUND) or _INTRODUCED.search(before) is None:
        return False
    # Commas list words, unless the last part says that it is the answer.
    return "," not in before or _COMMITTED.match(before.rpartition(",")[2]) is not None


def stated_number(text: str, *, prompt: str) -> float | None:
    """Return the one number in a text; among several, the one that the prompt does not name. None if that is ambiguous."""
    found = read_number(text)
    if found is not None or len(text) > LONGEST:
        return found
    given = {run.rstrip(".,:/-–") for run in _RUN.findall(prompt)}
    left = _RUN.sub(lambda run: " " if run[0].rstrip(".,:/-–") in given else run[0], text)
    return read_number(left)


def stated_items(text: str, gold: Sequence[JsonValue]) -> str | None:
    """Return the items that a text lists after its introduction, one a line; `none` if it says so; None if it lists nothing."""
    bare = text.strip()
    if _NOTHING.match(bare):
        return "none"
    bullets = _BULLET.findall(bare)
    if bullets:
        return "\n".join(bullets)
    if len(bare) > LONGEST * 10 or _DENIED.search(bare):
        return None
    listed = _LEAD.sub("", bare)
    if listed != bare:
        return _divided(listed, gold)
    forms = {_form(text_of(item)) for item in gold if any(sign.isdigit() for sign in text_of(item))}
    # Without an introduction only codes of the gold's own form can be told from the prose around them.
    codes = [code.strip(_AROUND) for code in _CODE.findall(bare)]
    named = [code for code in codes if _form(code) in forms]
    return "\n".join(named) if named and all(any(s.isdigit() for s in text_of(item)) for item in gold) else None


def _divided(listed: str, gold: Sequence[JsonValue]) -> str:
    """Return the items of `A, B and C.`. An `and` that is part of a right item does not separate."""
    bare = listed.strip().rstrip(".")
    return bare if any(_AND.search(text_of(item)) for item in gold) else _AND.sub(", ", bare)


def _joined(text: str) -> str:
    return " ".join(text.split())


def _holds(text: str, value: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(normal_text(value))}(?!\w)", normal_text(text)) is not None if text else False


def _form(value: str) -> str:
    """Return a value with each run of digits as 0 and of letters as a: values of the same form are of the same kind."""
    return re.sub(r"[a-z]+", "a", re.sub(r"\d+", "0", value.casefold()))
