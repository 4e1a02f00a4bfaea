"""Let a chat model write the sentences, and check that they name only things that the agent has seen."""

import re
from collections.abc import Sequence

from simtrain.agents.plan import Planned, Rationale
from simtrain.agents.wording.sentences import Sentences
from simtrain.contracts.agent import Briefing
from simtrain.contracts.journal import Journal
from simtrain.llm.client import ChatClient
from simtrain.values.types import encode

LONGEST = 300
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
            if not completion.cut and self.holds(text):
                return Rationale(text, usage)
        return Rationale(builtin.text, usage)

    def holds(self, text: str) -> bool:
        """True if a text is short and plain, and names only things that the agent has seen."""
        return 0 < len(text) <= LONGEST and not _MARKED.search(text) and not self.view.unseen(text)

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
