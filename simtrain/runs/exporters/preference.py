"""Pairs for preference training: two endings of one case, the better one chosen."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal, TypeAlias

from pydantic import Field

from simtrain.contracts.trajectory import Trajectory, Turn
from simtrain.runs.exporters.functions import definitions, names_of
from simtrain.runs.exporters.messages import NO_WORDS, ChatRows, opening, spoken
from simtrain.runs.exporters.phases import deserves, earned, faulted, noticeable
from simtrain.values.types import JsonObject, canonical

Kind: TypeAlias = Literal["step", "recovery", "twin"]
_Case: TypeAlias = tuple[str, str, int]


@dataclass(slots=True)
class _Extremes:
    """The best and the worst trajectory seen; ties are broken by content, so that the order of files does not matter."""

    best: Trajectory
    worst: Trajectory | None

    def add(self, other: Trajectory) -> None:
        self.best = min(self.best, other, key=lambda one: (-(one.reward or 0), _identity(one)))
        ends = [one for one in (self.worst, other) if one is not None and deserves(one)]
        self.worst = min(ends, key=lambda one: (one.reward or 0, _identity(one)), default=None)


class Preference(ChatRows):
    """Rows of `prompt`, `chosen` and `rejected` as chat messages with `tools`, in TRL's conversational preference
    format.

    The kinds, for a case played with one seed: `recovery`, the best and the worst end of the same perturbed episode,
    from where they diverge; `step`, only the first messages that differ, after both met the same fault; `twin`, a clean
    success against a perturbed failure, from the task on. A case gives at most one pair of a kind per arm. Tool replies
    within `chosen` and `rejected` are not the agent's: mask them in your trainer, or use `step`. Format:
    https://huggingface.co/docs/trl/dataset_formats#preference.
    """

    kinds: list[Kind] = Field(default_factory=lambda: ["recovery", "twin"], min_length=1, description="Which pairs.")
    good: float = Field(1.0, gt=0, le=1, description="Reward that the chosen one must have earned.")
    margin: float = Field(0.25, gt=0, le=1, description="By how much the rejected one must have earned less.")

    def rows(self, trajectory: Trajectory) -> Iterator[JsonObject]:
        """Yield nothing: a pair takes two trajectories."""
        return iter(())

    def lacking(self, trajectory: Trajectory) -> str | None:
        if trajectory.reward is None:
            return "without a reward"
        return "without another end of the case that is better or worse by enough" if spoken(trajectory) else NO_WORDS

    def over(self, trajectories: Iterable[Trajectory]) -> Iterator[JsonObject]:
        """Yield the pairs, case by case. Two trajectories are held in memory per arm of a case."""
        cases: dict[_Case, dict[bytes, _Extremes]] = {}
        for trajectory in trajectories:
            if trajectory.reward is None or not spoken(trajectory):
                continue
            # Declining a task that is not known to be solvable is never the rejected side.
            settings = cases.setdefault((trajectory.scenario, trajectory.episode, trajectory.seed), {})
            setting = canonical([trajectory.scenario_digest, faulted(trajectory), _read(trajectory)])
            if setting in settings:
                settings[setting].add(trajectory)
            else:
                settings[setting] = _Extremes(trajectory, trajectory if deserves(trajectory) else None)
        # Sorted, so that the order of files does not matter.
        for case in sorted(cases):
            yield from self._of_case([cases[case][setting] for setting in sorted(cases[case])])

    def _of_case(self, settings: Sequence[_Extremes]) -> Iterator[JsonObject]:
        perturbed = [found for found in settings if faulted(found.best)]
        clean = [found.best for found in settings if not found.best.perturbations]
        for found in perturbed:
            if found.worst is None:
                continue
            for kind in ("recovery", "step"):
                if kind in self.kinds:
                    yield from self._parting(kind, found.best, found.worst)
            if "twin" in self.kinds and clean:
                # The prompt is written once per pair, so both sides should have read the same.
                twin = next((one for one in clean if _read(one) == _read(found.worst)), clean[0])
                yield from self._pair("twin", twin, found.worst, [])

    def _parting(self, kind: Kind, good: Trajectory, bad: Trajectory) -> Iterator[JsonObject]:
        """Yield a pair of one perturbed episode, from the first differing turn on; a `step` needs a fault before that."""
        both = zip(spoken(good), spoken(bad), strict=False)
        shared = [ours for ours, _ in takewhile(lambda turns: _alike(*turns), both)]
        sign = noticeable(good)
        reached = sign is not None and (sign < 0 or any(step.index >= sign for turn in shared for step in turn.steps))
        if kind == "recovery" or reached:
            yield from self._pair(kind, good, bad, shared)

    def _pair(self, kind: Kind, good: Trajectory, bad: Trajectory, shared: Sequence[Turn]) -> Iterator[JsonObject]:
        reward, other = good.reward or 0.0, bad.reward or 0.0
        ours, theirs = spoken(good)[len(shared) :], spoken(bad)[len(shared) :]
        # Equal endings, or ones that differ only within the margin, teach nothing.
        if not earned(good, self.good) or reward - other < self.margin or not ours or not theirs:
            return
        names = names_of(good)
        row: JsonObject = {"kind": kind, "prompt": [*opening(good), *self.history(shared, names)]}
        row["chosen"] = self._ending(kind, ours, names)
        row["rejected"] = self._ending(kind, theirs, names_of(bad))
        if good.tools:
            row["tools"] = definitions(good, names)
        yield row | {"rewards": {"chosen": reward, "rejected": other}}

    def _ending(self, kind: Kind, turns: Sequence[Turn], names: dict[str, str]) -> list[JsonObject]:
        if kind == "step":
            return [self.message(turns[0], names)]
        return self.conversation(turns, names)


def _read(trajectory: Trajectory) -> list[object]:
    """Return everything that the agent was given before its first turn."""
    return [trajectory.system, trajectory.prompt, trajectory.tools]


def _identity(trajectory: Trajectory) -> tuple[int, bytes]:
    return trajectory.attempt, canonical(trajectory.agent)


def _alike(ours: Turn, theirs: Turn) -> bool:
    """True if two turns have equal calls and replies; text beside calls may differ, final messages may not."""
    return (bool(ours.steps) or ours.text == theirs.text) and _seen(ours) == _seen(theirs)


def _seen(turn: Turn) -> list[tuple[str, bytes, str | None, str]]:
    return [
        (step.action.tool, canonical(step.action.arguments), step.action.malformed, step.observation.text)
        for step in turn.steps
    ]
