"""How an agent states its answer in plain text, or that there can be none."""

from __future__ import annotations

import re

ANSWER_FORMAT = (
    "When you are done, reply without any tool call. Put the bare answer on a line of its own that starts with "
    '"ANSWER:". If the task cannot be done as it was asked, do not guess and do not claim that it was done: end with a '
    'line that starts with "CANNOT:", followed by the reason.'
)
"""The paragraph of a system prompt that explains what `read_answer` reads."""

# A colon inside the emphasis or outside, since models like to write **ANSWER:** as well.
_LINE = re.compile(r"^[ \t]*(?:\*\*|__)?(ANSWER|CANNOT)(?:\*\*|__)?:(?:\*\*|__)?", re.MULTILINE)


def read_answer(text: str) -> tuple[str, bool]:
    """The answer in an agent's last message, and whether it abstains.

    The last line that starts with `ANSWER:` or `CANNOT:` decides: what follows it, to the end of the text, is the answer
    or the reason for abstaining. Without such a line the whole text is the answer.
    """
    marks = list(_LINE.finditer(text))
    if not marks:
        return text.strip(), False
    return text[marks[-1].end() :].strip(), marks[-1][1] == "CANNOT"
