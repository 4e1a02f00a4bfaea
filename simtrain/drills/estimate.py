"""Estimate the cost of a drill: a scripted agent rehearses one case of every arm, and its tokens are counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simtrain.agents.select import build_agent
from simtrain.contracts.scenario import Scenario
from simtrain.contracts.trajectory import Trajectory
from simtrain.llm.completion import Price
from simtrain.runs.rollout import rollout
from simtrain.runs.schedule import Deal
from simtrain.values.types import Usage, encode

REHEARSER = "resilient"
LETTERS_PER_TOKEN = 4
"""A rule of thumb for English and JSON."""


@dataclass(frozen=True, slots=True)
class ArmEstimate:
    """An arm: its episodes, and the tokens and US dollars of all of them; None if no scenario of it could be rehearsed."""

    name: str
    episodes: int
    usage: Usage | None


async def estimate(scenarios: Sequence[Scenario], deal: Deal, *, price: Price | None) -> list[ArmEstimate]:
    """Return an estimate for each arm if a chat model plays like the rehearsing agent, without reasoning tokens, at `price`.

    Only scenarios with a reference plan and without a language model as world can be rehearsed; the others count like these.
    """
    episodes: dict[tuple[str, str], int] = {}
    for episode in deal:
        place = (_arm(episode.scenario), episode.scenario.name)
        episodes[place] = episodes.get(place, 0) + 1
    first = {(_arm(episode.scenario), episode.scenario.name): episode for episode in reversed(deal)}
    rehearser = build_agent(REHEARSER)
    usage: dict[tuple[str, str], Usage] = {}
    for place, episode in first.items():
        if _can_be_rehearsed(episode.scenario):
            usage[place] = usage_of(await rollout(episode, rehearser, name=REHEARSER), price=price)
    names = dict.fromkeys(_arm(scenario) for scenario in scenarios)
    return [_estimate(name, episodes, usage) for name in names]


def usage_of(trajectory: Trajectory, *, price: Price | None) -> Usage:
    """Return the tokens that a trajectory costs a chat model: every turn sends the whole history."""
    read = len(trajectory.system) + len(trajectory.prompt) + len(encode(trajectory.tools))
    prompt = completion = 0
    for turn in trajectory.turns:
        written = len(turn.text) + sum(len(encode(step.action)) for step in turn.steps)
        prompt += read // LETTERS_PER_TOKEN
        completion += written // LETTERS_PER_TOKEN
        read += written + sum(len(step.observation.text) for step in turn.steps)
    cost = price.of(prompt=prompt, completion=completion, cached=0) if price else 0.0
    return Usage(prompt, completion, 0, cost)


def _estimate(
    name: str, episodes: Mapping[tuple[str, str], int], usage: Mapping[tuple[str, str], Usage]
) -> ArmEstimate:
    inside = [place for place in episodes if place[0] == name]
    total = sum(episodes[place] for place in inside)
    rehearsed = [place for place in inside if place in usage]
    if not rehearsed:
        return ArmEstimate(name, total, None)
    share = total / sum(episodes[place] for place in rehearsed)

    def whole(of: str) -> float:
        return share * sum(getattr(usage[place], of) * episodes[place] for place in rehearsed)

    return ArmEstimate(
        name, total, Usage(round(whole("prompt_tokens")), round(whole("completion_tokens")), 0, whole("cost"))
    )


def _arm(scenario: Scenario) -> str:
    return scenario.arm.name if scenario.arm else ""


def _can_be_rehearsed(scenario: Scenario) -> bool:
    return scenario.spec.reference is not None and all(item.world_model.stateless for item in scenario.answering)
