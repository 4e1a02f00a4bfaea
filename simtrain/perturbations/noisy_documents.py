"""Related but useless documents in addition to the true ones."""

from typing import ClassVar, cast

from simtrain.contracts.perturbation import Call, Traits
from simtrain.perturbations.added_text import AddedText, topic_of
from simtrain.perturbations.pools import pool


class NoisyDocuments(AddedText):
    """The reply continues with documents on the same subject that answer nothing.

    Source: AgentNoiseBench, ZeroSearch. An agent should filter them out and keep to the true reply.
    """

    traits: ClassVar[Traits] = Traits(side="reply", layer="M", recoverable_by=("cross-check",))
    task: ClassVar[str] = """\
You write search results that are related and useless. Write as many short documents as `passages` says, each with a title, in one
text. They speak of the same subject as the reply, answer nothing, contradict nothing and hold no figures."""

    def template(self, call: Call, count: int) -> str:
        """Return documents from the pool about what the call is about."""
        documents = call.rng.sample(cast("list[dict[str, str]]", pool(self.source)["documents"]), count)
        topic = topic_of(call)
        listed = [f"{shown['title'].format(topic=topic)}\n{shown['body'].format(topic=topic)}" for shown in documents]
        return "\n\n".join(["See also:", *listed])
