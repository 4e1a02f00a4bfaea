"""The price of an agent's model, as far as its knobs state it."""

from __future__ import annotations

from simtrain.agents.select import build_agent
from simtrain.contracts.agent import Agent
from simtrain.llm.completion import Price
from simtrain.llm.knobs import ModelKnobs
from simtrain.runs.runner import RunOptions
from simtrain.values.errors import InputError


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
            f"--max-cost: nobody has said what {options.agent} costs",
            remedy="add --with prompt_price=... --with completion_price=... (US dollars per million tokens)",
        )
