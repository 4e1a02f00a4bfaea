"""The fixture `simtrain_drill`: drills whose figures can be asserted, and which show the episodes behind them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import nan
from pathlib import Path
from typing import Any, Self

import pytest

from simtrain.drills.drill import drill
from simtrain.drills.findings import Finding, episode_command
from simtrain.drills.gates import HAPPENINGS, value_of
from simtrain.drills.measures import Measures
from simtrain.drills.outcome import Outcome, distinct, paired
from simtrain.drills.plan import Kind, plan_drill
from simtrain.drills.report import RunReport, gravity
from simtrain.runs.reading import found, trajectory_text
from simtrain.runs.runner import RunOptions
from simtrain.testing.playing import Wanted, loaded, named, outside_loop
from simtrain.values.arm import CLEAN, PRIMED
from simtrain.values.errors import InputError, nearest
from simtrain.values.types import JsonValue

SHOWN = 2
"""Maximum episodes in the report of a failed test."""


class Figure(float):
    """A figure of a drill: a number that knows its name and the episodes that count against it. NaN if it cannot be told."""

    name: str
    against: tuple[Outcome, ...]
    run: Path

    def __new__(cls, value: float, name: str, against: Sequence[Outcome], run: Path) -> Self:
        """`name` is that of conditions (`duplicate-write`); `run` is the run folder."""
        made = super().__new__(cls, value)
        made.name, made.against, made.run = name, tuple(against), run
        return made

    def explanation(self) -> list[str]:
        """Return lines that say what the figure is and what counts against it."""
        if self != self:
            return [f"{self.name} cannot be told from what was played"]
        count = len(self.against)
        return [f"{self.name} is {self:.4g}; {count} {'episode counts' if count == 1 else 'episodes count'} against it"]


class ArmFigures:
    """The figures of one arm, or of all perturbed episodes together."""

    def __init__(self, run: RunReport, measures: Measures, outcomes: Sequence[Outcome]) -> None:
        self.measures = measures
        """All measures, with intervals and counts."""
        self._run = run
        self._outcomes = distinct(outcomes)

    def figure(self, name: str) -> Figure:
        """Return a figure by the name that conditions use: `success`, `duplicate-write`, `pass@2`.

        It is NaN, which fails every comparison but `!=`, if it cannot be told from what was played. Counts of what must not happen are
        then 0, as in conditions.
        """
        value = value_of(self.measures, name)
        missing = 0.0 if name in HAPPENINGS else nan
        twins = paired(self._run.outcomes[CLEAN])
        counts = _AGAINST.get(name.partition("@")[0].partition("^")[0], _lost)
        against = [one for one in self._outcomes if counts(one, twins.get(one.pairing))]
        against.sort(key=lambda one: (-gravity(one), len(one.armed), one.calls, one.arm, one.pairing))
        return Figure(missing if value is None else value, name, against, self._run.path)

    @property
    def success(self) -> Figure:
        """Return the share of graded episodes that end right."""
        return self.figure("success")

    @property
    def difference(self) -> Figure:
        """Return success minus that of the clean twins, from -1 to 1."""
        return self.figure("difference")

    @property
    def recovery(self) -> Figure:
        """Return the share that ends right, of episodes in which a fault fired and whose clean twins end right."""
        return self.figure("recovery")

    @property
    def false_success(self) -> Figure:
        """Return the share in which the agent answers as if all were done, and it is not."""
        return self.figure("false-success")

    @property
    def false_failure(self) -> Figure:
        """Return the share in which the agent reports as impossible what is done."""
        return self.figure("false-failure")

    @property
    def duplicate_write(self) -> Figure:
        """Return the share in which a write landed twice."""
        return self.figure("duplicate-write")

    @property
    def runaway(self) -> Figure:
        """Return the share that a limit had to end."""
        return self.figure("runaway")

    @property
    def abstention(self) -> Figure:
        """Return the share of impossible tasks that the agent declines."""
        return self.figure("abstention")

    @property
    def needless_abstention(self) -> Figure:
        """Return the share of possible tasks that the agent declines."""
        return self.figure("needless-abstention")

    @property
    def attack_success(self) -> Figure:
        """Return the share of planted instructions that reached their goal, of those that the agent read."""
        return self.figure("attack-success")


class PlayedDrill(ArmFigures):
    """A drill that was played: the figures of all perturbed episodes together, and of each arm."""

    def __init__(self, run: RunReport, replayable: bool) -> None:
        perturbed = [one for name, found in run.outcomes.items() if name not in (CLEAN, PRIMED) for one in found]
        super().__init__(run, run.perturbed or run.clean, perturbed)
        self.path = run.path
        """The run folder, with drill.html."""
        self._replayable = replayable

    @property
    def clean(self) -> ArmFigures:
        """Return the figures without perturbations."""
        return self.arm(CLEAN)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return what to fix, worst first."""
        return self._run.findings

    def arm(self, name: str) -> ArmFigures:
        """Return the figures of one arm (`uncertain_writes/timeout_after`). Raises InputError if there is none of that name."""
        report = self._run.arm(name)
        if report is None:
            raise InputError(f"the drill has no arm {name!r}", remedy=nearest(name, self._run.outcomes))
        return ArmFigures(self._run, report.measures, self._run.outcomes[name])

    def sections(self, failed: Sequence[Figure]) -> Iterator[tuple[str, str]]:
        """Yield the worst episodes behind the figures that failed; behind all, if none of this drill did."""
        own = [figure for figure in failed if figure.run == self.path] or [self.success]
        chosen = dict.fromkeys((one.arm, one.pairing) for figure in own for one in figure.against[:SHOWN])
        outcomes = {(one.arm, one.pairing): one for figure in own for one in figure.against}
        for key in list(chosen)[:SHOWN]:
            yield "simtrain: worst episode", self._shown(outcomes[key])
        yield "simtrain: report", str(self.path / "drill.html")

    def _shown(self, outcome: Outcome) -> str:
        scenario, episode, _, attempt = outcome.pairing
        trajectory = found(self.path, f"{scenario}:{episode}", arm=outcome.arm, attempt=attempt)
        show, replay = (episode_command(verb, self.path, outcome) for verb in ("show", "replay"))
        last = replay if self._replayable else "(simtrain replay needs an agent that a module names)"
        return "\n".join((trajectory_text(trajectory), "", show, last))


class DrillRunner:
    """Drills agents. `telling` gets every drill, `folder` makes a new folder."""

    def __init__(self, telling: list[Any], folder: Callable[[str], Any]) -> None:
        self._telling = telling
        self._folder = folder

    def __call__(
        self,
        scenarios: Wanted,
        agent: Any = "resilient",
        *,
        packs: Sequence[str | Path] = (),
        severities: Sequence[float] = (),
        arms: Sequence[Kind] = ("alone", "pack", "together"),
        cases: int | None = None,
        knobs: Mapping[str, JsonValue] | None = None,
        seed: int = 0,
        attempts: int = 1,
        concurrency: int = 32,
        allow_unfired: bool = False,
        out: str | Path | None = None,
    ) -> PlayedDrill:
        """Play the same cases with and without perturbations, and return the drill. Raises InputError.

        The options are those of `simtrain.drill`. The test fails if an episode failed through no fault of the agent, or if a planned
        fault never fired and `allow_unfired` is not set.
        """
        name, made = named(agent)
        plan = plan_drill(
            loaded(scenarios),
            packs=[str(pack) for pack in packs],
            severities=sorted(severities),
            kinds=arms,
            cases=cases,
        )
        options = RunOptions(name, dict(knobs or {}), seed, None, attempts, concurrency)
        folder = Path(out) if out else self._folder("drill")
        result = outside_loop(lambda: drill(plan, [options], folder, agent=made))
        if result.report is None or not result.complete:
            pytest.fail(f"the drill did not finish: see {folder}", pytrace=False)
        (run,) = result.report.runs
        played = PlayedDrill(run, replayable=made is None or ":" in name)
        self._telling.append(played)
        if run.unfired and not allow_unfired:
            pytest.fail(f"planned faults never fired: {'; '.join(run.unfired)}", pytrace=False)
        return played


def _lost(outcome: Outcome, twin: Outcome | None) -> bool:
    return outcome.right is False


def _spoilt(outcome: Outcome, twin: Outcome | None) -> bool:
    return outcome.right is False and twin is not None and twin.right is True


def _unrecovered(outcome: Outcome, twin: Outcome | None) -> bool:
    return bool(outcome.fired) and _spoilt(outcome, twin)


_AGAINST: Mapping[str, Callable[[Outcome, Outcome | None], bool]] = {
    "difference": _spoilt,
    "recovery": _unrecovered,
    "runaway": lambda one, _: one.runaway,
    "false-success": lambda one, _: one.false_success,
    "false-failure": lambda one, _: one.false_failure,
    "duplicate-write": lambda one, _: one.duplicates > 0,
    "abstention": lambda one, _: one.abstaining and one.stop != "abstained",
    "needless-abstention": lambda one, _: not one.abstaining and one.stop == "abstained",
    "attack-success": lambda one, _: one.attacked,
}
"""The episodes that count against a figure; of the others, those that went wrong."""
