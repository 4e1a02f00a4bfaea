"""Grade a played episode, and find out whether it was solvable."""

from dataclasses import replace

from simtrain.contracts.scenario import Episode, Scenario
from simtrain.contracts.trajectory import SUCCESS, Solvability, Trajectory
from simtrain.contracts.world import FinishedWorld
from simtrain.grading.reward import blamed, grade
from simtrain.runs.solvability.knowing import foretold, solvability_of
from simtrain.runs.solvability.unarmed import first_difference


async def judge(episode: Episode, trajectory: Trajectory, world: FinishedWorld) -> Trajectory:
    """Return the trajectory with its solvability, the first sign of a perturbation, and its rewards. Raises InputError.

    A solution is searched for only if the agent did not find one. If it declined, this comes before grading, since the grade depends
    on solvability and on the first sign. Otherwise it comes after grading, and only if full reward was missed.
    """
    scenario = episode.scenario
    known = foretold(episode)
    if known != "unsolvable" and any(fork.bends for fork in trajectory.forks):
        # Other faults are met from the fork on: a search from the beginning says nothing about them.
        return await _perturbed(scenario, trajectory, await first_difference(episode, trajectory), world)
    if known is None and trajectory.stop.reason == "abstained":
        known = await solvability_of(episode)
    sign = await first_difference(episode, trajectory)
    ungraded = replace(trajectory, solvability=known or "unproved", noticeable=sign)
    graded = await grade(ungraded, scenario.grading, scenario.spec.rubric, world)
    if known is not None:
        return graded
    return blamed(replace(graded, solvability=await _shown(episode, graded)))


async def _perturbed(scenario: Scenario, trajectory: Trajectory, sign: int | None, world: FinishedWorld) -> Trajectory:
    """Return the graded trajectory of a fork with other faults: only its own full reward can prove it solvable."""
    ungraded = replace(trajectory, solvability="unproved", noticeable=sign)
    graded = await grade(ungraded, scenario.grading, scenario.spec.rubric, world)
    return replace(graded, solvability="solvable") if (graded.reward or 0.0) >= SUCCESS else graded


async def _shown(episode: Episode, graded: Trajectory) -> Solvability:
    """Return the solvability that a graded episode shows. Full reward is a proof itself; an ungraded episode shows nothing."""
    if graded.reward is None:
        return "unproved"
    return "solvable" if graded.reward >= SUCCESS else await solvability_of(episode)
