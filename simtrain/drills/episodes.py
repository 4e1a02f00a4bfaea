"""A trajectory as HTML: what was asked, every call with its reply, and which faults fired where."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from itertools import pairwise

from simtrain.contracts.trajectory import Step, Trajectory, Turn
from simtrain.drills.worst import WorstEpisode
from simtrain.values.clock import instant
from simtrain.values.types import Observation, encode

MOST_STEPS = 40
LONGEST = 900


def episode(shown: WorstEpisode) -> str:
    """Return one trajectory, folded up."""
    trajectory = shown.trajectory
    steps = trajectory.steps
    left = f"<p class='soft'>... {len(steps) - MOST_STEPS} more calls</p>" if len(steps) > MOST_STEPS else ""
    delays = _delays(trajectory)
    turns = "".join(
        _turn(turn, delays) for turn in trajectory.turns if not turn.steps or turn.steps[0].index < MOST_STEPS
    )
    bent = f"<p class='mark'>Changed beforehand: {escape(', '.join(trajectory.bent))}</p>" if trajectory.bent else ""
    detail = f" ({trajectory.stop.detail})" if trajectory.stop.detail else ""
    return (
        f"<details><summary>{escape(trajectory.arm)} · {escape(trajectory.scenario)} {escape(trajectory.episode)}, "
        f"attempt {trajectory.attempt} · <em>{escape(', '.join(shown.faults) or 'failed')}</em> "
        f"<span class='soft'>{len(steps)} calls, {escape(trajectory.stop.reason)}</span></summary>"
        f'<div class="episode">{_pre(trajectory.prompt)}{bent}{turns}{left}'
        f"<p><b>{escape(trajectory.stop.reason)}</b>{escape(_cut(detail))} {escape(_cut(trajectory.answer or ''))}</p>"
        f"<p class='soft'>{escape(_rewards(shown))}</p></div></details>"
    )


def _turn(turn: Turn, delays: Mapping[int, str]) -> str:
    words = _pre(turn.text) if turn.text else ""
    return words + "".join(_step(step, delays.get(step.index)) for step in turn.steps)


def _step(step: Step, delay: str | None) -> str:
    head = f"<b>{step.index + 1}. {escape(step.action.tool)}</b> {_pre(encode(step.action.arguments))}"
    if not step.events:
        return f'<div class="step">{head}{_pre(step.observation.text)}</div>'
    # The innermost perturbation is recorded first, and met the reply of the tool itself.
    clean, labels = step.events[0].clean, ", ".join(event.label for event in step.events)
    late = f" <span class='delay'>{delay} (virtual time)</span>" if delay else ""
    mark = f'<p class="mark">{escape(labels)}{late}</p>'
    return f'<div class="step fault">{head}{mark}{_pair(clean, step.observation)}</div>'


def _pair(clean: Observation | None, read: Observation) -> str:
    """Return both texts of a call: what it would have said, and what the agent read."""
    if clean is not None and clean.text == read.text:
        return f"<div><small>clean and perturbed: the same words</small>{_pre(read.text)}</div>"
    without = "<pre>nobody can say</pre>" if clean is None else _pre(clean.text)
    return (
        f'<div class="pair"><div><small>clean: what the tool said</small>{without}</div>'
        f'<div class="bent"><small>perturbed: what the agent read</small>{_pre(read.text)}</div></div>'
    )


def _delays(trajectory: Trajectory) -> dict[int, str]:
    """Return what is said of the steps that took time on the virtual clock which they would not have taken by themselves."""
    steps, ended = trajectory.steps, trajectory.world.ended
    moments = [instant(step.clock) for step in steps] + ([instant(ended)] if ended else [])
    gaps = {step.index: later - earlier for step, (earlier, later) in zip(steps, pairwise(moments), strict=False)}
    late = {step.index for step in steps if any("clock" in event.changed for event in step.events)}
    # Every call but the first takes its usual time before it begins; what ends the episode takes none.
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


def _rewards(shown: WorstEpisode) -> str:
    return " · ".join(
        f"{reward.grader} {'-' if reward.value is None else f'{reward.value:g}'}" for reward in shown.trajectory.rewards
    )


def _pre(text: str) -> str:
    return f"<pre>{escape(_cut(text))}</pre>"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text) - LONGEST:,} more letters)"
