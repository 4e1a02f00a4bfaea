"""Word the text beside calls: one or two sentences about their purpose, chosen by the seed, or written by a model and checked."""

import re
from collections.abc import Sequence

from simtrain.agents.plan import Rationale
from simtrain.agents.planned import Planned
from simtrain.agents.skills.messages import message_in
from simtrain.agents.wording import phrases
from simtrain.agents.wording.acts import act
from simtrain.agents.wording.view import ShownTexts
from simtrain.contracts.agent import Briefing
from simtrain.contracts.journal import Journal
from simtrain.contracts.trajectory import Step
from simtrain.llm.client import ChatClient
from simtrain.values.seeding import Stream, derive
from simtrain.values.types import encode

_NAMING = "\0"
LONGEST = 110
"""Characters of an error that are quoted."""
_BREAK = re.compile(r"[{}\[\]\"'`\\\n<>|]|(?<=[.!?;]) ")


class Sentences:
    """Words calls by what the agent has seen: the task, the replies, the names of the tools."""

    def __init__(self, briefing: Briefing) -> None:
        self.prompt = briefing.prompt
        self._tools = {tool.name: tool for tool in briefing.tools}
        self._seed = derive(briefing.seed, "wording")
        self.view = ShownTexts(briefing.prompt)

    async def beside(self, planned: Planned, calls: Sequence[Planned], journal: Journal) -> Rationale:
        """Return the text beside some calls; the first of them is `planned`."""
        self.view.catch_up(journal)
        return Rationale(self._worded(planned, calls, journal))

    def _worded(self, planned: Planned, calls: Sequence[Planned], journal: Journal) -> str:
        """Return the sentences for some calls, chosen by the seed and the number of the turn."""
        # By the number of the turn, so that a resumed episode words the same turn alike.
        stream = Stream(derive(self._seed, str(len(journal.turns))))
        steps = journal.turns[-1].steps if journal.turns else []
        wording = stream.choose(self._wordings(planned, calls, journal, steps))
        # A sentence about a value's source must not name the value twice.
        known = ShownTexts() if wording.startswith(_NAMING) else self.view
        return wording.removeprefix(_NAMING).format(
            act=act(planned, known, stream),
            more=act(calls[1], self.view, stream) if len(calls) == 2 else stream.choose(phrases.MORE),
            failed=self._failed(steps, stream),
            error=_error_sentence(steps),
            tool=planned.tool,
        )

    def _wordings(
        self, planned: Planned, calls: Sequence[Planned], journal: Journal, steps: Sequence[Step]
    ) -> Sequence[str]:
        if planned.reason is not None:
            return phrases.REASONS[planned.reason]
        if "cursor" in planned.arguments:
            return phrases.PAGE
        if steps and steps[-1].observation.is_error:
            return phrases.REFUSED_SAYING if _error_sentence(steps) else phrases.REFUSED
        if len(calls) > 1:
            return phrases.TOGETHER
        tool = self._tools.get(planned.tool)
        if tool is not None and tool.writes:
            usual = (*phrases.NEXT, *phrases.WRITE)
        else:
            usual = (*phrases.NEXT, *phrases.READ) if journal.turns else phrases.FIRST
        return (*usual, *self._sourced(planned, journal))

    def _sourced(self, planned: Planned, journal: Journal) -> list[str]:
        """Return wordings that say where a value of the call comes from: the task, or the latest reply that holds it."""
        value = next((text for value in planned.arguments.values() if (text := self.view.named(value))), None)
        if value is None:
            return []
        # The latest reply first: it is what the agent has just read.
        for turn in reversed(journal.turns):
            for step in turn.steps:
                if ShownTexts(step.observation.text).shows(value.strip('"')):
                    return [_naming(wording, value, step.action.tool) for wording in phrases.FROM_REPLY]
        return [_naming(wording, value, "") for wording in phrases.FROM_TASK]

    def _failed(self, steps: Sequence[Step], stream: Stream) -> str:
        wording = _error_sentence(steps)
        return stream.choose(phrases.FAILED_SAYING).format(error=wording) if wording else stream.choose(phrases.FAILED)


def _naming(wording: str, value: str, tool: str) -> str:
    return _NAMING + wording.replace("{value}", value).replace("{tool}", tool)


def _error_sentence(steps: Sequence[Step]) -> str:
    """Return the first sentence of the latest error; empty if it does not read as a sentence."""
    if not steps or not steps[-1].observation.is_error:
        return ""
    wording = _BREAK.split(message_in(steps[-1].observation.text).strip(), maxsplit=1)[0].strip().rstrip(".,:;!?( ")
    # A code such as `E42` is not a sentence to quote.
    return wording if 8 <= len(wording) <= LONGEST and " " in wording else ""


LONGEST_WRITTEN = 300
"""Maximum characters of the text beside calls."""
SHOWN = 4000
"""Characters of a reply that the model is shown."""
TRIES = 2

_TASK = """\
You write what an assistant says right before it makes tool calls: one or two short, plain sentences in the first person about why it
makes them now. Use only what is stated below. Do not guess what the calls will return, do not state an answer, quote nothing else,
and reply with the sentences alone."""
_MARKED = re.compile(r"[{}\n`]|\b(?:ANSWER|CANNOT):")


class WordedByModel(Sentences):
    """Asks a chat model for the sentences; after two attempts that fail the check, the built-in ones are used."""

    def __init__(self, briefing: Briefing, client: ChatClient) -> None:
        super().__init__(briefing)
        self._client = client

    async def beside(self, planned: Planned, calls: Sequence[Planned], journal: Journal) -> Rationale:
        """Return the text beside some calls, the first of which is `planned`, and its cost. Raises ModelError."""
        builtin = await super().beside(planned, calls, journal)
        request = [
            {"role": "system", "content": _TASK},
            {"role": "user", "content": self._shown(calls, journal, builtin.text)},
        ]
        usage = builtin.usage
        for _ in range(TRIES):
            completion = await self._client.complete(request)
            if completion.usage is not None:
                usage = completion.usage if usage is None else usage + completion.usage
            text = " ".join(completion.text.split(" ")).strip()
            # A model may invent ids or announce results; such a sentence would teach an agent to make things up.
            if not completion.cut and self.holds(text):
                return Rationale(text, usage)
        return Rationale(builtin.text, usage)

    def holds(self, text: str) -> bool:
        """True if a text is short and plain, and names only things that the agent has seen."""
        return 0 < len(text) <= LONGEST_WRITTEN and not _MARKED.search(text) and not self.view.unseen(text)

    def _shown(self, calls: Sequence[Planned], journal: Journal, plain: str) -> str:
        """Return the prompt for the model: the task, the replies of the last turn, the calls, and the built-in
        sentence to rephrase.
        """
        replies = [step.observation.text[:SHOWN] for turn in journal.turns[-1:] for step in turn.steps]
        made = [f"{call.tool} {encode(call.arguments)}" for call in calls]
        parts = [
            ("Task", [self.prompt]),
            ("Replies just received", replies),
            ("Calls about to be made", made),
            ("Said plainly", [plain]),
        ]
        return "\n\n".join(f"{name}:\n" + "\n".join(lines) for name, lines in parts if lines)
