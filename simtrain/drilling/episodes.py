"""A trajectory as HTML: what was asked, every call with its reply, and which faults fired where."""

from __future__ import annotations

from html import escape

from simtrain.drilling.worst import Shown
from simtrain.trajectory import Step, Turn
from simtrain.types import Observation, encode

MOST_STEPS = 40
LONGEST = 900


def episode(shown: Shown) -> str:
    """One trajectory, folded up."""
    trajectory = shown.trajectory
    steps = trajectory.steps
    left = f"<p class='soft'>... {len(steps) - MOST_STEPS} more calls</p>" if len(steps) > MOST_STEPS else ""
    turns = "".join(_turn(turn) for turn in trajectory.turns if not turn.steps or turn.steps[0].index < MOST_STEPS)
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


def _turn(turn: Turn) -> str:
    words = _pre(turn.text) if turn.text else ""
    return words + "".join(_step(step) for step in turn.steps)


def _step(step: Step) -> str:
    marks = "".join(
        f"<div><span class='mark'>{escape(event.label)}</span> {_without(event.clean)}</div>" for event in step.events
    )
    return (
        f'<div class="step{" fault" if step.events else ""}"><b>{step.index + 1}. {escape(step.action.tool)}</b> '
        f"{_pre(encode(step.action.arguments))}{marks}{_pre(step.observation.text)}</div>"
    )


def _without(clean: Observation | None) -> str:
    return f"<span class='soft'>instead of</span> {_pre(clean.text)}" if clean is not None else ""


def _rewards(shown: Shown) -> str:
    return " · ".join(
        f"{reward.grader} {'-' if reward.value is None else f'{reward.value:g}'}" for reward in shown.trajectory.rewards
    )


def _pre(text: str) -> str:
    return f"<pre>{escape(_cut(text))}</pre>"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text) - LONGEST:,} more letters)"
