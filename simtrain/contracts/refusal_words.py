"""A server's own wording of mistakes in arguments: for recorded calls verbatim, for single mistakes, and for several at once."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from simtrain.contracts.argument_mistakes import ArgumentMistakes, Mistake

Channel: TypeAlias = str | int
"""The channel of a refusal: an `error` reply, a plain `result`, or a JSON-RPC error with this code."""

_FORMS: Mapping[str, tuple[str, str, str]] = {
    "": ("", ", ", ", "), "_quoted": ("'", ", ", ", "), "_strings": ('"', ", ", ", "), "_json": ('"', ",", ","),
    "_ticked": ("`", ", ", ", "), "_close": ("", ",", ","), "_piped": ("", "|", "|"), "_options": ("", " | ", " | "),
    "_quoted_options": ("'", " | ", " | "), "_string_options": ('"', "|", "|"), "_slashed": ("", "/", "/"),
    "_or": ("", ", ", " or "), "_quoted_or": ("'", ", ", " or "), "_strings_or": ('"', ", ", " or "),
    "_comma_or": ("", ", ", ", or "), "_quoted_comma_or": ("'", ", ", ", or "), "_and": ("", ", ", " and "),
    "_quoted_and": ("'", ", ", " and "),
}  # fmt: skip
"""Ways to write a list: the text around each item, between two, and before the last."""

LISTS = ("known", "required", "absent", "options")

SLOTS = (
    "tool",
    "field",
    "value",
    "value_json",
    "value_python",
    "arguments",
    "arguments_json",
    "arguments_python",
    *(f"{name}{form}" for name in LISTS for form in _FORMS),
)
"""The slots of a text: names, the given value, all arguments, and lists of names with the ways to write them."""


@dataclass(frozen=True, slots=True)
class WordedText:
    """A text, its form, and the mistakes it is for: `mistakes` are all mistakes of a call; the other fields describe a
    single one.
    """

    text: str
    channel: Channel = "error"
    tool: str | None = None
    mistakes: str | None = None
    kind: str | None = None
    field: str | None = None
    wanted: str | None = None
    given: str | None = None

    def fits(self, tool: str, mistake: Mistake) -> bool:
        """True if the text is for this single mistake."""
        return (
            self.mistakes is None
            and self.kind == mistake.kind
            and self.tool in (None, tool)
            and self.field in (None, mistake.field)
            and self.wanted in (None, mistake.wanted)
            and self.given in (None, mistake.given)
        )


@dataclass(frozen=True, slots=True)
class TextFrame:
    """How several single texts become one: `lead` and `tail` are taken off each, and the rest is set between these words."""

    lead: str
    tail: str
    before: str
    between: str
    after: str

    def around(self, tool: str, texts: Sequence[str]) -> str | None:
        """Return the combined text; None if a single one lacks the lead or tail."""
        lead, tail, before, between, after = (
            part.format(tool=tool) for part in (self.lead, self.tail, self.before, self.between, self.after)
        )
        # A text that does not fit the frame was said under other circumstances; composing it would invent a wording.
        if not all(text.startswith(lead) and text.endswith(tail) for text in texts):
            return None
        return before + between.join(text.removeprefix(lead).removesuffix(tail) for text in texts) + after


@dataclass(frozen=True, slots=True)
class RefusalWords:
    """Texts, the more specific first, and the rule for several mistakes.

    Of several mistakes, the first of the `stages` with any is reported: all of its mistakes in the frame of their kinds if there
    are `frames`, else only the first. Without stages, several mistakes have words only if they are recorded verbatim.
    """

    sayings: tuple[WordedText, ...] = ()
    stages: tuple[tuple[str, ...], ...] = ()
    frames: Mapping[str, TextFrame] | None = None

    def refusal(self, tool: str, mistakes: ArgumentMistakes) -> tuple[str, Channel] | None:
        """Return the text and its form; None if there are no words for the mistakes."""
        exact = str(mistakes)
        # What was recorded for exactly these mistakes comes before what is composed of single ones.
        for saying in self.sayings:
            if saying.mistakes == exact and saying.tool == tool:
                return saying.text.format_map(slots(tool, mistakes, mistakes.foremost)), saying.channel
        if not self.stages:
            return self.of_one(tool, mistakes, mistakes.found[0]) if len(mistakes.found) == 1 else None
        reported = self.reported(tool, mistakes)
        if not reported:
            return None
        worded = [self.of_one(tool, mistakes, mistake) for mistake in reported]
        texts = [one[0] for one in worded if one is not None]
        if len(texts) < len(worded) or worded[0] is None:
            return None
        if len(texts) == 1:
            return worded[0]
        frames = self.frames or {}
        # A frame seen for other kinds is the best guess: servers seldom change their punctuation.
        frame = frames.get(kinds_of(reported)) or next(iter(frames.values()), None)
        whole = frame.around(tool, texts) if frame else None
        return (whole, worded[0][1]) if whole is not None else None

    def of_one(self, tool: str, mistakes: ArgumentMistakes, mistake: Mistake) -> tuple[str, Channel] | None:
        """Return the text about one mistake."""
        saying = next((one for one in self.sayings if one.fits(tool, mistake)), None)
        return None if saying is None else (saying.text.format_map(slots(tool, mistakes, mistake)), saying.channel)

    def reported(self, tool: str, mistakes: ArgumentMistakes) -> list[Mistake]:
        """Return the mistakes that are reported. A server without words for unknown arguments ignores them."""
        noticed = [one for one in mistakes.found if one.kind != "unknown" or self.of_one(tool, mistakes, one)]
        for stage in self.stages:
            found = [one for one in noticed if one.kind in stage]
            if found:
                return found if self.frames is not None else found[:1]
        return []


NO_WORDS = RefusalWords()
"""A server without words of its own."""


def kinds_of(mistakes: Sequence[Mistake]) -> str:
    """Return the kinds of several mistakes, as the key of their frame."""
    return " and ".join(sorted({mistake.kind for mistake in mistakes}))


def all_arguments(mistakes: ArgumentMistakes) -> dict[str, str]:
    """Return all arguments of the call in the forms that a text may repeat, by slot."""
    given = mistakes.arguments
    return {
        "arguments": json.dumps(given, indent=2, ensure_ascii=False),
        "arguments_json": json.dumps(given, separators=(",", ":"), ensure_ascii=False),
        "arguments_python": repr(given),
    }


def slots(tool: str, mistakes: ArgumentMistakes, mistake: Mistake) -> dict[str, str]:
    """Return the values for the slots of a text about one mistake."""
    absent = [one.field for one in mistakes.found if one.kind == "absent"]
    lists = {"known": mistakes.known, "required": mistakes.required, "absent": absent, "options": mistake.options}
    value = mistake.value
    dumped = json.dumps(value, ensure_ascii=False)
    found = {"tool": tool, "field": mistake.field, "value": value if isinstance(value, str) else dumped}
    found |= all_arguments(mistakes)
    found |= {"value_json": dumped, "value_python": repr(value)}
    for name, items in lists.items():
        for form, (quote, between, last) in _FORMS.items():
            *others, final = [f"{quote}{item}{quote}" for item in items] or [""]
            found[f"{name}{form}"] = last.join([between.join(others), final] if others else [final])
    return found
