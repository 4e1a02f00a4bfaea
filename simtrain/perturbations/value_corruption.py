"""A plausible wrong number."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.mcp_wire.raw_replies import reworded
from simtrain.perturbations.figures import figures_in, figures_in_text, misspelt, off, spoken
from simtrain.perturbations.reply_edits import at, content_of, leaves, put, respoken, respoken_within, retold
from simtrain.perturbations.wrong_figure import WrongFigure
from simtrain.values.types import JsonValue, Observation, Provenance, ToolSpec


class ValueCorruption(WrongFigure):
    """One number of a reply is 10 to 25 % off, in the structured content and in the text: never an id, a date or a page.

    Source: ToolMaze, ToolBench-X, BENCH2ROBUST. An agent should look up elsewhere a number that much depends on; the same call
    made again tells the truth where this does not fire again. Replies without such a number pass, and so do errors.
    """

    traits: ClassVar[Traits] = Traits(
        side="reply", layer="D", effect="after", visible=False, recoverable_by=("cross-check",)
    )

    async def apply(self, call: Call, proceed: Answer) -> Observation:
        """Pass the call on and change one number of its reply."""
        observation = await proceed(call.request)
        if observation.is_error:
            return observation
        share = self.share(call.rng)
        content = content_of(observation)
        if content is None:
            return _misspoken(observation, call.rng.shuffled(figures_in_text(observation.text)), share)
        for path in call.rng.shuffled(list(figures_in(content, fields=tuple(self.fields)))):
            wrong = _misstated(observation, content, path, share, call.request.tool)
            if wrong is not None:
                return wrong
        return _misspoken_within(call, observation, content, share)


def _misspoken_within(call: Call, observation: Observation, content: JsonValue, share: float) -> Observation:
    """Return the reply with one number of the prose that it holds off by a share."""
    prose = "\n".join(leaf for _, leaf in leaves(content) if isinstance(leaf, str) and "://" not in leaf.split(" ")[0])
    for token in call.rng.shuffled(figures_in_text(prose)):
        wrong = misspelt(token, share)
        if wrong is not None:
            words = {token: wrong}
            said = retold(
                observation, respoken_within(content, words), tool=call.request.tool, world=call.world, source="value_corruption",
                words=words,
            )  # fmt: skip
            if said is not None:
                return said
    return observation


def _misstated(
    observation: Observation, content: JsonValue, path: tuple[str | int, ...], share: float, tool: ToolSpec
) -> Observation | None:
    """Return the reply with a figure off by a share, or by as much the other way where that does not fit; None where neither does."""
    right = at(content, path)
    for wrong in (off(right, share), off(right, -share)):
        if wrong is not None:
            words = dict(zip(spoken(right), spoken(wrong), strict=False))
            said = retold(observation, put(content, path, wrong), tool=tool, source="value_corruption", words=words)
            if said is not None:
                return said
    return None


def _misspoken(observation: Observation, tokens: list[str], share: float) -> Observation:
    """Return a prose reply with one of its numbers off by a share."""
    for token in tokens:
        written = misspelt(token, share)
        if written is None:
            continue
        text = respoken(observation.text, {token: written})
        return replace(reworded(observation, text, observation.content), provenance=Provenance("value_corruption"))
    return observation
