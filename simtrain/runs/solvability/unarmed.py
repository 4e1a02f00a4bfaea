"""Replay the calls of an episode without perturbations, to find the first reply that differs."""

import re
from dataclasses import replace

from simtrain.contracts.environment import Environment
from simtrain.contracts.scenario import Episode
from simtrain.contracts.trajectory import Step, Trajectory
from simtrain.episodes.toolbox import as_read
from simtrain.scenarios.load import paradigm_of
from simtrain.values.errors import SimulatorFault
from simtrain.values.types import Observation

BEFORE = -1
"""The index that stands for everything that an agent reads before its first call."""

_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?")


async def first_difference(episode: Episode, trajectory: Trajectory) -> int | None:
    """Return the first step whose reply differs from the unperturbed one; None if there is none.

    Times within the episode are ignored, since perturbations take time. The result is -1 if the task, or a tool as the agent
    reads it, differed. Before that step the agent cannot know that anything is wrong: a silently lost write shows only in a later
    read, if at all. If the world cannot be replayed, the record decides: the first reply that it marks as perturbed.
    """
    if not trajectory.bent and not any(step.events for step in trajectory.steps):
        return None
    if any(use.use != "embedded" for use in episode.scenario.spec.world_models):
        return _recorded(trajectory)
    began, ended = trajectory.steps[0].clock if trajectory.steps else "", trajectory.world.ended
    unarmed = replace(episode, scenario=replace(episode.scenario, perturbations=()), real_time=False)
    try:
        async with paradigm_of(unarmed.scenario).open(unarmed) as environment:
            asked = environment.asks(episode.scenario.prompt.render(episode.case))
            if asked != trajectory.prompt or as_read(environment.tools) != as_read(trajectory.tools):
                return BEFORE
            for turn in trajectory.turns:
                environment.begin_turn()
                for step in turn.steps:
                    reply = await _unarmed_reply(environment, step)
                    if _timeless(reply, began, ended) != _timeless(step.observation, began, ended):
                        return step.index
    except SimulatorFault:
        return _recorded(trajectory)
    return None


def _recorded(trajectory: Trajectory) -> int | None:
    if trajectory.bent:
        return BEFORE
    perturbed = (
        step.index
        for step in trajectory.steps
        if any(
            "reply" in event.changed or (not event.changed and event.clean != event.perturbed) for event in step.events
        )
    )
    return next(perturbed, None)


async def _unarmed_reply(environment: Environment, step: Step) -> Observation:
    """Return the unperturbed reply to a call; for a resource or a prompt, which no tool serves, the recorded one."""
    if "/" in step.action.tool:
        return next((event.clean for event in step.events if event.clean is not None), step.observation)
    return await environment.step(step.action)


def _timeless(observation: Observation, began: str, ended: str) -> tuple[str, bool]:
    """Return the content of a reply without the times between the first call and the last."""

    def now(found: re.Match[str]) -> str:
        return "" if began[:16] <= found[0][:16].replace(" ", "T") <= ended[:16] else found[0]

    return _MOMENT.sub(now, observation.text), observation.is_error
