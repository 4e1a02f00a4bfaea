"""Delays of perturbations, which pass on the virtual clock, in words."""

from itertools import pairwise

from simtrain.contracts.trajectory import Trajectory
from simtrain.values.clock import instant


def delays(trajectory: Trajectory) -> dict[int, str]:
    """Return a note for each step that took longer on the virtual clock than its call alone would have."""
    steps, ended = trajectory.steps, trajectory.world.ended
    moments = [instant(step.clock) for step in steps] + ([instant(ended)] if ended else [])
    gaps = {step.index: later - earlier for step, (earlier, later) in zip(steps, pairwise(moments), strict=False)}
    late = {step.index for step in steps if any("clock" in event.changed for event in step.events)}
    # The clock advances by the usual time before every call but the first, and not at all before the end of the episode.
    usual = min((gap for index, gap in gaps.items() if index not in late and index + 1 < len(steps)), default=None)
    found: dict[int, str] = {}
    for index in late & gaps.keys():
        if index + 1 == len(steps):
            found[index] = f"took {gaps[index]:,.0f} s longer"
        elif usual is None:
            found[index] = f"{gaps[index]:,.0f} s until the next call"
        else:
            found[index] = f"took {gaps[index] - usual:,.0f} s longer"
    return found
