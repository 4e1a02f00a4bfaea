"""Estimate the cost of a drill: a scripted agent rehearses one case of every arm, and its tokens are counted and priced."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simtrain.agents.select import build_agent
from simtrain.contracts.agent import Agent
from simtrain.contracts.scenario import Scenario
from simtrain.contracts.trajectory import Trajectory
from simtrain.llm.completion import Price
from simtrain.llm.knobs import ModelKnobs
from simtrain.runs.rollout import rollout
from simtrain.runs.runner import RunOptions
from simtrain.runs.schedule import Deal
from simtrain.values.errors import InputError
from simtrain.values.types import Usage, encode

REHEARSER = "resilient"
LETTERS_PER_TOKEN = 4
"""A rule of thumb for English and JSON."""


def price_of(options: RunOptions, agent: Agent | None = None) -> Price | None:
    """Return the price of the agent's model (of `agent`, if it was made in Python); None for an agent without a model.

    Raises InputError for an unknown agent.
    """
    agent = agent or build_agent(options.agent, options.knobs)
    if not isinstance(agent, ModelKnobs):
        return None
    return Price(agent.prompt_price, agent.completion_price, agent.cached_price)


def refuse_unpriced(options: RunOptions, agent: Agent | None = None) -> None:
    """Raise InputError if the cost is limited but the model's price is unknown."""
    if options.max_cost is None:
        return
    price = price_of(options, agent)
    if price is not None and not (price.prompt or price.completion):
        raise InputError(
            f"--max-cost: the price of {options.agent} is unknown",
            remedy="add --with prompt_price=... --with completion_price=... (US dollars per million tokens)",
        )


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
    # Reversed, so that the first episode of each place is the one that stays.
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
    # Scenarios that cannot be rehearsed count like the average of those that can.
    share = total / sum(episodes[place] for place in rehearsed)

    def whole(of: str) -> float:
        return share * sum(getattr(usage[place], of) * episodes[place] for place in rehearsed)

    return ArmEstimate(
        name, total, Usage(round(whole("prompt_tokens")), round(whole("completion_tokens")), 0, whole("cost"))
    )


def _arm(scenario: Scenario) -> str:
    return scenario.arm.name if scenario.arm else ""


def _can_be_rehearsed(scenario: Scenario) -> bool:
    return scenario.spec.planned and all(item.world_model.stateless for item in scenario.answering)
