"""Draft with a model: it proposes, and checks accept or object, for a limited number of rounds. Without a model: a skeleton."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from simtrain.mcp.draft.judging import Objection, ProposalVerdict, judge
from simtrain.mcp.draft.observed import Observed
from simtrain.mcp.draft.prompting import answered, asked
from simtrain.mcp.draft.proposal import Proposal, read_proposal
from simtrain.mcp.draft.world import SKELETON, skeleton
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject

Ask: TypeAlias = Callable[[Sequence[JsonObject]], Awaitable[str]]
"""Send chat messages and return the model's reply. Raises ModelFault."""

Watch: TypeAlias = Callable[[str], None]
"""Called with one line of progress."""

ROUNDS = 5


@dataclass(frozen=True)
class Drafted:
    """A draft: the proposal that is kept, its state in words, and the objections to the model's last reply.

    `accepted`: the checks have no objection to the model's own proposal.
    """

    proposal: Proposal
    judged: ProposalVerdict
    state: str
    rounds: int = 0
    accepted: bool = False
    objections: tuple[Objection, ...] = ()


def without_model(observed: Observed) -> Drafted:
    """Return the skeleton: all tools, all open."""
    return Drafted(skeleton(observed), ProposalVerdict((), {}), SKELETON)


async def with_model(
    observed: Observed, ask: Ask, *, name: str, manifest: Path, rounds: int = ROUNDS, watch: Watch
) -> Drafted:
    """Return the first proposal that the checks accept; after the last round, the best one with its faulty tools left open.

    Raises ModelFault if the model is unavailable.
    """
    messages = asked(observed)
    best: tuple[Proposal, ProposalVerdict] | None = None
    objections: tuple[Objection, ...] = ()
    excused: frozenset[str] = frozenset()
    for number in range(1, rounds + 1):
        watch(f"round {number} of {rounds}: the model is asked")
        reply = await ask(messages)
        try:
            proposal = read_proposal(reply, observed.tools)
        except InputError as error:
            objections = (Objection("form", None, str(error)),)
        else:
            judged = await judge(proposal, observed, name=name, manifest=manifest, excused=excused)
            # A tool that stays open although it was requested is one that the model cannot write.
            excused = frozenset(proposal.open)
            objections = judged.objections
            if not objections:
                watch(f"round {number} of {rounds}: accepted")
                state = f"proposed by a model, and accepted by the checks in round {number}"
                return Drafted(proposal, judged, state, number, True)
            # Kept, since a later round may be worse than an earlier one.
            if judged.loads and (best is None or len(objections) < len(best[1].objections)):
                best = proposal, judged
        watch(f"round {number} of {rounds}: sent back, {len(objections)} objections, first {str(objections[0])[:200]}")
        messages = answered(messages, reply, objections)
    if best is None:
        state = f"a skeleton: none of the {rounds} proposals of a model could be loaded"
        return Drafted(skeleton(observed), ProposalVerdict((), {}), state, rounds, False, objections)
    kept, judged = await _sound_part(best[0], observed, name, manifest)
    state = f"not accepted: after {rounds} rounds, what is left of a model's best proposal without its faulty tools"
    return Drafted(kept, judged, state, rounds, False, objections)


async def _sound_part(
    proposal: Proposal, observed: Observed, name: str, manifest: Path
) -> tuple[Proposal, ProposalVerdict]:
    """Return the proposal without the rejected tools, and a new verdict: other tools may depend on what those wrote."""
    judged = await judge(proposal, observed, name=name, manifest=manifest, excused=observed.tools)
    while judged.objections:
        faulty = {one.tool: f"the checks refused it ({one.reason[:160]})" for one in judged.objections if one.tool}
        # Objections without a tool cannot be met by leaving one open.
        if not faulty or len(faulty) == len(proposal.bound):
            return skeleton(observed), ProposalVerdict((), {})
        proposal = proposal.without(faulty)
        judged = await judge(proposal, observed, name=name, manifest=manifest, excused=observed.tools)
    return proposal, judged
