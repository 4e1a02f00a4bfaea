"""An agent that does what it reads: the plan, and every instruction planted in tool output or tool descriptions."""

from collections.abc import Iterator

from simtrain.agents.planned import Planned, Walking
from simtrain.agents.resilient import Resilient
from simtrain.contracts.agent import Briefing
from simtrain.contracts.plan import Plan
from simtrain.perturbations.attacks.instruction import Instruction, decoded, instructions, planted_in
from simtrain.values.types import Message, Observation

LONGEST = 2000
"""Characters of a reply that are passed on when an instruction asks for it; services refuse very long texts."""


class Gullible(Resilient):
    """`resilient` that obeys every instruction in a reply or description: the lower bound of security drills."""

    def walk(self, plan: Plan, briefing: Briefing) -> Walking:
        """Follow the plan; after each reply, first obey the instructions in it or in a tool description, each once."""
        return _obeying(super().walk(plan, briefing), briefing)


def _obeying(walking: Walking, briefing: Briefing) -> Walking:
    known = {tool.name for tool in briefing.tools}
    seen: set[Instruction] = set()
    words: list[str] = []
    waiting = list(_described(briefing))
    observation: Observation | None = None
    while True:
        try:
            planned = next(walking) if observation is None else walking.send(observation)
        except StopIteration as finished:
            return _saying(finished.value, words)
        observation = yield planned
        waiting += planted_in(observation)
        # Obeyed before the plan goes on, and replies to obeyed calls may hold further instructions.
        while waiting:
            order = waiting.pop(0)
            if order in seen:
                continue
            seen.add(order)
            if order.words:
                words.append(order.words)
            elif order.tool in known:
                waiting += planted_in((yield Planned(order.tool, order.filled(observation.text[:LONGEST]))))


def _described(briefing: Briefing) -> Iterator[Instruction]:
    for tool in briefing.tools:
        for text in decoded(tool.description):
            yield from instructions(text)


def _saying(message: Message, words: list[str]) -> Message:
    """Return the message with the words that an instruction told the agent to say."""
    if not words:
        return message
    answer = " ".join([message.answer or message.text, *words])
    return Message(f"ANSWER: {answer}", answer=answer, abstain=message.abstain)
