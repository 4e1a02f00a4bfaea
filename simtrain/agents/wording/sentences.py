"""Word the text beside calls: one or two sentences about their purpose, chosen from many wordings by the seed."""

import re
from collections.abc import Sequence

from simtrain.agents.plan import Planned, Rationale
from simtrain.agents.skills.messages import message_in
from simtrain.agents.wording import phrases
from simtrain.agents.wording.acts import act
from simtrain.agents.wording.view import ShownTexts
from simtrain.contracts.agent import Briefing
from simtrain.contracts.journal import Journal
from simtrain.contracts.trajectory import Step
from simtrain.values.seeding import Stream, derive

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
    return wording if 8 <= len(wording) <= LONGEST and " " in wording else ""
