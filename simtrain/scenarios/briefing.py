"""The briefing of an agent at the start of an episode, and the one expected before any episode is opened."""

from dataclasses import replace

from simtrain.agents.answers import ANSWER_FORMAT
from simtrain.contracts.agent import Briefing, Outlook
from simtrain.contracts.environment import Environment
from simtrain.contracts.scenario import Episode
from simtrain.scenarios.load import paradigm_of
from simtrain.values.seeding import derive

SYSTEM = """\
You complete a task by calling tools. Use only what the tools return; never invent a value.
When several records look alike, make sure that you act on the right one. Lists may be paged: follow next_cursor until it is null.
Change nothing beyond what the task asks for."""


def brief(episode: Episode, environment: Environment, *, planned: bool = False) -> Briefing:
    """Return the briefing. With `planned`, a plan that must be derived for the case is searched for."""
    scenario, paradigm = episode.scenario, paradigm_of(episode.scenario)
    # A continued episode draws like the original, until a fork gives it another seed.
    seed = next((fork.seed for fork in reversed(episode.forks) if fork.seed is not None), episode.seed)
    attempt = episode.forks[0].attempt if episode.forks else episode.attempt
    return Briefing(
        system=scenario.spec.system if scenario.spec.system is not None else f"{SYSTEM}\n\n{ANSWER_FORMAT}",
        prompt=environment.asks(scenario.prompt.render(episode.case)),
        tools=environment.tools,
        stated={name: value for name, value in episode.case.items() if name in scenario.stated},
        seed=derive(seed, scenario.name, episode.id, "agent", attempt),
        reference=paradigm.reference(episode) if planned or not paradigm.plans else None,
        wrong=paradigm.wrong(episode),
        equivalents={tool: tuple(others) for tool, others in scenario.spec.equivalents.items()},
    )


async def outlook(episode: Episode) -> Outlook:
    """Return the briefing of an unperturbed episode. No world model is opened. Raises InputError."""
    scenario = replace(episode.scenario.unarmed or episode.scenario, perturbations=())
    bare = replace(episode, scenario=scenario)
    environment = paradigm_of(scenario).open(bare)
    try:
        return Outlook(scenario.name, brief(bare, environment), bare.limits)
    # The environment was not entered, so no world model was opened; this frees its state.
    finally:
        await environment.__aexit__(None, None, None)
