"""The texts that an agent has seen, the task and the replies so far: its sentences may name nothing else."""

import re

from simtrain.contracts.journal import Journal
from simtrain.values.types import JsonValue

_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,:]\d+)*(?!\w)")
_NAME = re.compile(r"\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]+\b")
_QUOTED = re.compile(r"[\"“”«»]([^\"“”«»]+)[\"“”«»]")
_ADDRESS = re.compile(r"\b[\w.+-]+@[\w-]+\.[\w.-]+\b")
_CAPITAL = re.compile(r"(?<=[a-z,;] )[A-Z]\w+(?: [A-Z]\w+)*")
LONGEST = 60
"""Maximum characters of a value that is named; anything longer is a text, not a name."""


class ShownTexts:
    """The texts that were shown so far; grows with the journal."""

    __slots__ = ("_texts", "_turns")

    def __init__(self, *texts: str) -> None:
        self._texts = list(texts)
        self._turns = 0

    def catch_up(self, journal: Journal) -> None:
        """Add the replies of the turns since the last call."""
        for turn in journal.turns[self._turns :]:
            self._texts += [step.observation.text for step in turn.steps]
        self._turns = len(journal.turns)

    def named(self, value: JsonValue) -> str | None:
        """Return the value as text if it may be named: a short text or a number that the agent has seen; else None."""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return None
        text = str(value)
        if not 0 < len(text) <= LONGEST or any(sign in text for sign in '\n{}[]"\\'):
            return None
        if not self.shows(text):
            return None
        return f'"{text}"' if text.count(" ") > 1 or (" " in text and not text.istitle()) else text

    def shows(self, text: str) -> bool:
        """True if a text was shown, in whole words."""
        whole: re.Pattern[str] | None = None
        for shown in self._texts:
            if text in shown:
                # Compiled only once the text occurs at all: most lookups end at the substring test.
                whole = whole or re.compile(rf"(?<!\w){re.escape(text)}(?!\w)")
                if whole.search(shown):
                    return True
        return False

    def unseen(self, sentence: str) -> list[str]:
        """Return the numbers, ids, addresses, quoted texts and names in a sentence that were never shown."""
        quoted = _QUOTED.findall(sentence)
        mentioned = [
            *quoted,
            *(found[0] for form in (_NUMBER, _NAME, _ADDRESS, _CAPITAL) for found in form.finditer(sentence)),
        ]
        return [text for text in dict.fromkeys(mentioned) if not self.shows(text)]
