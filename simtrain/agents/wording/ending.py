"""The last message: the answer in a sentence, or a refusal in sentences that say why."""

import json
import re

from simtrain.agents.answers import is_refusal, read_answer
from simtrain.agents.skills.messages import message_in
from simtrain.contracts.agent import Briefing
from simtrain.values.seeding import Stream, derive
from simtrain.values.types import JsonObject, JsonValue, Message, encode, is_list, is_object

LONGEST_ASKED = 70
LONGEST_REASON = 400

_THE = re.compile(
    r"\b(?:[Tt]ell me|[Gg]ive me|[Ss]end me|[Rr]eply with|[Aa]nswer with|[Ll]et me know|[Rr]eport) (the [^.,:;?!(\n\"]+)"
    r"|\b[Ww]hat (?:is|are) (the [^.,:;?!(\n\"]+)"
)
_WHAT_FOR = re.compile(r"\s+(?:as|which|if|and|then|when|where|from|who|whose)\b.*$")
_PLAIN = (
    "{The} is {value}.", "{The}: {value}.", "I have {the} for you: {value}.", "As to {the}: {value}.",
    "That is done. {The} is {value}.", "Here is {the}: {value}.", "You asked for {the}: {value}.",
)  # fmt: skip
_PLAIN_MANY = (
    "{The}: {value}.", "Here are {the}: {value}.", "You asked for {the}: {value}.", "That is done. {The}: {value}.",
    "I have {the} for you: {value}.",
)  # fmt: skip
_BARE = (
    "The answer is {value}.", "My answer is {value}.", "The result is {value}.", "I am done, and the answer is {value}.",
    "To answer your question: {value}.", "Here is the answer: {value}.", "That brings me to the answer: {value}.",
)  # fmt: skip
_BARE_MANY = (
    "Here they are: {value}.", "These are the ones: {value}.", "I found these: {value}.", "The answer: {value}.",
    "It comes to these: {value}.",
)  # fmt: skip
_NONE = ("There are none.", "None.", "The answer is none.", "The answer: none.")
_TABLE = (
    "Here is the table.", "This is what I found.", "The rows that you asked for:", "Here is the result as a table.", "The table, complete:",
)  # fmt: skip
_JSON = ("Here is the answer.", "The answer, in the form that you asked for:", "This is the result.")
_REFUSALS = (
    "I cannot do this as it was asked. {why}", "I am unable to carry this out. {why}", "This cannot be done as it was asked. {why}",
    "I could not complete the task. {why}", "I have to decline this. {why}", "Sorry, I cannot do that. {why}",
    "Unfortunately, this cannot be done. {why}", "I was not able to do what was asked. {why}", "I can't do this. {why}",
)  # fmt: skip
_NO_WORD = "The replies do not tell me what I need to go on."
_INTERNAL = re.compile(r"has no value|cannot be rendered|no text to read from|^the plan ", re.IGNORECASE)
_BRACED = re.compile(r"[{\[][^{}\[\]]*[}\]]")


class EndingWords:
    """Words the final message of one episode, by its seed."""

    def __init__(self, briefing: Briefing) -> None:
        self._asked = _asked(briefing.prompt)
        self._stream = Stream(derive(briefing.seed, "ending"))

    def of(self, message: Message, value: JsonValue = None) -> Message:
        """Return the message in sentences; `value` is the answer. The text is parsed like any agent's final message."""
        text = self._refused(message.answer or "") if message.abstain else self._answered(value)
        answer, abstains = read_answer(text)
        return Message(text, abstain=abstains, answer=answer)

    def _refused(self, reason: str) -> str:
        why = _sentence(reason)
        text = self._stream.choose(_REFUSALS).format(why=why)
        # What the service said may take the refusal back ("but ..."); the mark settles it for any reader.
        return text if is_refusal(text) else f"{text}\nCANNOT: {why}"

    def _answered(self, value: JsonValue) -> str:
        if is_list(value):
            return self._listed(value)
        if is_object(value):
            return f"{self._stream.choose(_JSON)}\n\n```json\n{encode(value)}\n```"
        text = "" if value is None else value if isinstance(value, str) else encode(value)
        many = ", " in text
        # Several lines have a form of their own, which a sentence around them would break.
        if not text or "\n" in text:
            return text
        return self._worded(text, many=many)

    def _listed(self, items: list[JsonValue]) -> str:
        if not items:
            return self._stream.choose(_NONE)
        if all(is_object(item) for item in items):
            return f"{self._stream.choose(_TABLE)}\n\n{_table(items)}"
        texts = [item if isinstance(item, str) else encode(item) for item in items]
        # Items with separators inside could not be told apart in one line.
        if any(sign in text for text in texts for sign in (",", ";", " and ", "\n")):
            return "\n".join([self._stream.choose(_TABLE), "", *(f"- {text}" for text in texts)])
        if len(texts) == 1:
            return self._worded(texts[0], many=True)
        return self._worded(f"{', '.join(texts[:-1])} and {texts[-1]}", many=True)

    def _worded(self, value: str, *, many: bool) -> str:
        asked = self._asked
        if asked is None:
            wordings = _BARE_MANY if many else _BARE
            return _ended(self._stream.choose(wordings).replace("{value}", value), value)
        sentence = self._stream.choose(_PLAIN_MANY if many else _PLAIN)
        filled = sentence.replace("{The}", asked[0].upper() + asked[1:]).replace("{the}", asked)
        return _ended(filled.replace("{value}", value), value)


def _ended(text: str, value: str) -> str:
    """Return the sentence, without a full stop after a URL, which would be read as part of it."""
    return text.removesuffix(".") if "://" in value else text


def _asked(prompt: str) -> str | None:
    """Return what a task asks for, in its own words: `the id of the ticket that stays`; None if that is not plain."""
    found = list(_THE.finditer(" ".join(prompt.split())))
    if not found:
        return None
    # The last one: tasks say at their end what to reply with.
    asked = _WHAT_FOR.sub("", (found[-1][1] or found[-1][2]).strip())
    asked = re.sub(r"\byour\b", "my", re.sub(r"\byou\b", "I", asked))
    plain = 4 < len(asked) <= LONGEST_ASKED and not any(sign.isdigit() or sign in "@'`" for sign in asked)
    return asked if plain and asked.split()[-1] not in ("the", "of", "to", "in", "at", "with") else None


def _table(rows: list[JsonObject]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [[_cell(row.get(name)) for name in names] for row in rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (names, ["---"] * len(names), *lines))


def _cell(value: JsonValue) -> str:
    text = "" if value is None else value if isinstance(value, str) else encode(value)
    return " ".join(text.split()).replace("|", "\\|")


def _in_words(found: re.Match[str]) -> str:
    """Return a JSON list of scalars as words; anything else in brackets is left out."""
    try:
        value = json.loads(found[0])
    except ValueError:
        return ""
    items = value if is_list(value) else None
    if items is None or any(isinstance(item, dict | list) for item in items):
        return ""
    texts = [item if isinstance(item, str) else encode(item) for item in items]
    return " and ".join([part for part in (", ".join(texts[:-1]), *texts[-1:]) if part]) or "none"


def _sentence(reason: str) -> str:
    """Return a reason in words: the message of an error, without the JSON around it."""
    sentence = " ".join(message_in(reason).split())
    if _INTERNAL.search(sentence):
        return _NO_WORD
    # Innermost first, since brackets may be nested.
    while (bare := _BRACED.sub(_in_words, sentence)) != sentence:
        sentence = bare
    sentence = (
        # The marks in a service's error would be read as the agent's own answer.
        re.sub(r"[{}\[\]]", "", " ".join(sentence.split()))
        .replace("ANSWER:", "")
        .replace("CANNOT:", "")[:LONGEST_REASON]
        .strip()
    )
    if not any(sign.isalpha() for sign in sentence):
        return _NO_WORD
    sentence = sentence[0].upper() + sentence[1:]
    return sentence if sentence[-1] in ".!?" else f"{sentence}."
