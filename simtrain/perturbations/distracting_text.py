"""The true reply with unrelated text."""

from typing import ClassVar

from simtrain.contracts.perturbation import Call, Traits
from simtrain.perturbations.added_text import AddedText
from simtrain.perturbations.pools import texts


class DistractingText(AddedText):
    """The reply also contains notices, advertising and small talk.

    Source: AgentNoiseBench, RobustBench-TC. An agent should ignore them; the reply itself is correct.
    """

    traits: ClassVar[Traits] = Traits(side="reply", layer="M", recoverable_by=("cross-check",))
    task: ClassVar[str] = """\
You write what clutters the replies of services: notices, advertising, small talk. Write as many short passages as `passages` says,
in one text. They have nothing to do with the reply, ask for nothing and hold no figures."""

    def template(self, call: Call, count: int) -> str:
        """Return passages from the pool, each once."""
        return "\n".join(call.rng.sample(texts(self.source, "passages"), count))
