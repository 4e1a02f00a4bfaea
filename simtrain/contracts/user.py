"""The scripted user of a scenario: answers questions by keywords, with facts of the case, and knows nothing else."""

import re
from collections.abc import Collection, Mapping
from functools import lru_cache

from pydantic import Field

from simtrain.files.file_model import FileModel
from simtrain.files.templates import Text
from simtrain.values.types import JsonObject, JsonValue, Observation, Provenance, ToolSpec, arguments_of

ASK = "ask"
ASKING = ToolSpec(
    ASK,
    "Ask the user who gave you this task a question, and get the reply. For what is missing or unclear and no other tool can tell.",
    arguments_of(
        ("question",), question={"type": "string", "minLength": 1, "description": "One question, in plain words."}
    ),
)
"""The tool that asks the user; it belongs to no server, so perturbations of servers do not affect it."""

_USER = Provenance("user")
_SPELLING = re.compile(r"[\W_]+")


class UserFact(FileModel):
    """What the user says when asked about one topic."""

    about: list[str] = Field(min_length=1, description="Words or phrases; one of them in a question brings it out.")
    says: str = Field(min_length=1, description="A template over the case's parameters, stated in the prompt or not.")


class UserSpec(FileModel):
    """A user who can be asked. Besides the facts, they repeat the parameters stated in the prompt, each by its name."""

    facts: list[UserFact] = Field(
        default_factory=list[UserFact], description="What they say, and when; all that fits, in order."
    )
    otherwise: str = Field(default="I don't know.", min_length=1, description="What they say to everything else.")


class ScriptedUser:
    """The user of one episode."""

    __slots__ = ("_case", "_spec", "_stated")

    def __init__(self, spec: UserSpec, case: Mapping[str, JsonValue], *, stated: Collection[str]) -> None:
        """`stated` names the parameters of the case that the prompt states."""
        self._spec = spec
        self._case = case
        self._stated = sorted(stated)

    def answer(self, arguments: JsonObject) -> Observation:
        """Return the reply to a call of the tool `ask`."""
        return Observation(self.reply(str(arguments["question"])), provenance=_USER)

    def reply(self, question: str) -> str:
        """Return what the user says to a question."""
        asked = _words(question)
        facts = [_text(fact.says).render(self._case) for fact in self._spec.facts if _mentions(asked, fact.about)]
        # Only what the prompt states: hidden parameters of the case would give the answer away.
        facts += [str(self._case[name]) for name in self._stated if _mentions(asked, (name,))]
        # Without repetitions, since a fact may repeat a stated parameter.
        return " ".join(dict.fromkeys(facts)) or self._spec.otherwise


_text = lru_cache(maxsize=1024)(Text)


def _words(text: str) -> str:
    """Return the words of a text in lower case, with a space around each; underscores separate words too."""
    return f" {_SPELLING.sub(' ', text.lower()).strip()} "


def _mentions(asked: str, phrases: Collection[str]) -> bool:
    return any(_words(phrase) in asked for phrase in phrases)
