"""How an agent states its answer, or declines the task, in plain text."""

import re

from simtrain.values.types import Message, Usage

ANSWER_FORMAT = (
    "When you are done, reply without any tool call and state the answer: in a plain sentence that gives it once and no other "
    'value beside it, or bare, on a line of its own that starts with "ANSWER:". If the task cannot be done as it was asked, do '
    "not guess and do not claim that it was done: begin with saying that you cannot do it and go on with the reason, or end with "
    'a line that starts with "CANNOT:", followed by the reason.'
)
"""The paragraph of a system prompt that explains what `read_answer` reads."""

# A colon inside the emphasis or outside, since models like to write **ANSWER:** as well.
_LINE = re.compile(r"^[ \t]*(?:\*\*|__)?(ANSWER|CANNOT)(?:\*\*|__)?:(?:\*\*|__)?", re.MULTILINE)

_SORRY = r"(?:(?:(?:I[’']m|I am|we[’']re|we are) )?(?:very |so )?(?:sorry|afraid)|unfortunately|regrettably)(?:,? but)?[,:.]? (?:that )?"
_UNABLE = (
    r"(?:I|we) (?:can ?not|can[’']t|could not|couldn[’']t|must decline|(?:have|had) to decline|(?:am|are|was|were) (?:unable|not able))"
    r"|(?:I[’']m|we[’']re) (?:unable|not able)"
)
# An agent may fail at one of these on the way and still answer.
_ON_THE_WAY = (
    r"(?:to )?(?:find|see|detect|locate|tell|say|believe|be|know|remember|recommend|guarantee|promise|rule|help but)\b"
)
_REFUSAL = re.compile(
    rf"(?:{_SORRY})?(?:(?:{_UNABLE}) (?!{_ON_THE_WAY})\w+"
    r"|(?:this|that|it|the (?:task|request|change)|what (?:was|you) asked(?: for)?)"
    r" (?:can ?not|can[’']t|could not|couldn[’']t) be (?:done|completed|carried out|fulfilled|finished|processed|made|granted)\b"
    r"|(?:this|that|it) is (?:not possible|impossible)\b)",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(r"\b(?:but|so|yet|still|however|nevertheless|instead|only in part)\b", re.IGNORECASE)
_AFTER_ALL = re.compile(r"\b(?:at first|in the end|after all|finally|the answer is)\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?:;])\s|\n")


def read_answer(text: str) -> tuple[str, bool]:
    """Return the answer in an agent's last message, and whether it abstains.

    The last line that starts with `ANSWER:` or `CANNOT:` decides: the rest of the text after it is the answer
    or the reason for abstaining. Without such a line the whole text is the answer, or a refusal if it begins like one.
    """
    marks = list(_LINE.finditer(text))
    if not marks:
        return text.strip(), is_refusal(text)
    # The last mark counts: models quote the instruction, or correct themselves, before they settle.
    return text[marks[-1].end() :].strip(), marks[-1][1] == "CANNOT"


def spoken(text: str, *, abstain: bool = False, usage: Usage | None = None) -> Message:
    """Return a text as a final message; `read_answer` decides whether it abstains unless `abstain` says so."""
    answer, declines = (text, True) if abstain else read_answer(text)
    return Message(text, answer=answer, abstain=declines, usage=usage)


def is_refusal(text: str) -> bool:
    """True if a text without marks declines the task: it begins by saying that it cannot be done, and does not take that back."""
    bare = text.strip().lstrip("*_ ")
    found = _REFUSAL.match(bare)
    if found is None:
        return False
    # "I cannot X, but ..." answers after all; a later sentence takes a refusal back only in stronger words.
    first, *further = _SENTENCE_END.split(bare[found.end() :], maxsplit=1)
    return _TAKEN_BACK.search(first) is None and not any(_AFTER_ALL.search(text) for text in further)
