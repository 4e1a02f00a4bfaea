"""The true reply with unrelated text."""

from typing import ClassVar

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.perturbations.added_text import AddedText
from simtrain.perturbations.pools import texts
from simtrain.perturbations.shell_replies import typed, with_output
from simtrain.values.types import Observation


class DistractingText(AddedText):
    """The reply also contains notices, advertising and small talk; on a shell, banners on stderr before what was asked for.

    Source: AgentNoiseBench, RobustBench-TC. An agent should ignore them; the reply itself is correct.
    """

    traits: ClassVar[Traits] = Traits(side="reply", layer="M", recoverable_by=("cross-check",), shell=True, page=True)
    task: ClassVar[str] = """\
You write what clutters the replies of services: notices, advertising, small talk. Write as many short passages as `passages` says,
in one text. They have nothing to do with the reply, ask for nothing and hold no figures."""

    def template(self, call: Call, count: int) -> str:
        """Return passages from the pool, each once."""
        pool = "passages" if typed(call) is None else "banners"
        return "\n".join(call.rng.sample(texts(self.source, pool), count))

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Pass the call on and add the words; on a shell, in front of what it prints. Raises SimulatorFault when the model fails."""
        if typed(call) is None or self.writer is not None:
            return await super().apply(call, proceed)
        reply = await proceed(call.request)
        count = self.count()
        if reply.is_error or not count:
            return reply
        return self.signed(
            with_output(reply, {"stderr": f"{self.template(call, count)}\n{(reply.content or {}).get('stderr', '')}"})
        )
