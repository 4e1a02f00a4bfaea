"""The report of a drill: every arm of one or two runs measured, what never fired, how two runs compare, and what to read first."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from simtrain.contracts.trajectory import Trajectory
from simtrain.drills.findings import Finding, findings
from simtrain.drills.measures import Measures, Versus, measure, versus
from simtrain.drills.outcome import Outcome, Pairing, distinct, outcome_of, paired
from simtrain.drills.solvability import read_labels
from simtrain.drills.statistics import holm
from simtrain.runs.run_folder import read_facts, read_run
from simtrain.runs.solvability.search import LABELS, Label
from simtrain.values.arm import CLEAN, PRIMED
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject

FORMAT = "simtrain-drill/1"

Lines: TypeAlias = tuple[str, ...]
Meets: TypeAlias = Mapping[str, Sequence[str]]
"""The tools whose calls a perturbation may act on, by perturbation."""

SHOWN = 12
PER_ARM = 2
"""Maximum per arm, each of another case, so that one arm's failures do not hide those of the others."""


@dataclass(frozen=True)
class ArmReport:
    """One arm: its measures, McNemar's p adjusted for the number of arms (Holm), its pairs by solvability, its faults
    that never fired, and the scenarios in which faults did not fire although they did in others.
    """

    name: str
    measures: Measures
    p_adjusted: float | None
    labelled: Mapping[str, int]
    unfired: tuple[str, ...]
    spared: tuple[str, ...]

    @property
    def control(self) -> bool:
        """True if the arm has no perturbations."""
        return self.name in (CLEAN, PRIMED)

    @property
    def what(self) -> str:
        """Return the name of the arm's perturbations, without the severity."""
        return self.name.partition("@")[0]

    @property
    def severity(self) -> float | None:
        """Return the severity that the drill set for the arm, if any."""
        at = self.name.partition("@")[2]
        return float(at) if at else None


class FamilyReport(BaseModel):
    """One family: its clean episodes, and those of all arms but the controls together (None if there are none)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(serialization_alias="family")
    clean: Measures
    perturbed: Measures | None


@dataclass(frozen=True)
class RunReport:
    """One agent's drill. `perturbed` measures all arms but the controls together, `findings` say what to fix, worst first."""

    path: Path
    agent: str
    seed: int
    arms: tuple[ArmReport, ...]
    perturbed: Measures | None
    outcomes: Mapping[str, Sequence[Outcome]]
    families: tuple[FamilyReport, ...]
    findings: tuple[Finding, ...]

    def arm(self, name: str) -> ArmReport | None:
        """Return the arm of that name."""
        return next((arm for arm in self.arms if arm.name == name), None)

    @property
    def clean(self) -> Measures:
        """Return the measures of the clean arm, which every drill has."""
        return next(arm.measures for arm in self.arms if arm.name == CLEAN)

    @property
    def unfired(self) -> list[str]:
        """Return one line for each planned fault that never fired."""
        return [f"{arm.name}: {line}" for arm in self.arms for line in arm.unfired]

    @property
    def spared(self) -> list[str]:
        """Return one line for each arm and reason why scenarios were spared a fault that fired elsewhere."""
        return [f"{arm.name}: {line}" for arm in self.arms for line in arm.spared]

    def facts(self) -> JsonObject:
        """Return the report as JSON."""
        return {
            "run": str(self.path),
            "agent": self.agent,
            "seed": self.seed,
            "perturbed": self.perturbed.facts() if self.perturbed else None,
            "unfired": self.unfired,
            "spared": self.spared,
            "arms": [
                {
                    "arm": arm.name,
                    "severity": arm.severity,
                    **arm.measures.facts(),
                    "p_adjusted": arm.p_adjusted,
                    "solvability": dict(arm.labelled),
                    "unfired": list(arm.unfired),
                    "spared": list(arm.spared),
                }
                for arm in self.arms
            ],
            "families": [family.model_dump(mode="json", by_alias=True) for family in self.families],
            "findings": [finding.facts(self.path) for finding in self.findings],
        }


@dataclass(frozen=True)
class Report:
    """The whole report: one run, or two with their paired comparison by arm (the second against the first)."""

    runs: tuple[RunReport, ...]
    compared: Mapping[str, Versus]

    def facts(self) -> JsonObject:
        """Return the report as JSON."""
        found: JsonObject = {"format": FORMAT, "runs": [run.facts() for run in self.runs]}
        if not self.compared:
            return found
        return {**found, "compared": {name: asdict(versus) for name, versus in self.compared.items()}}


def report_on(*paths: Path) -> Report:
    """Return the report on one drill, or on two that are compared.

    Raises InputError for a run that is not a drill, and for runs that share no pair.
    """
    runs = tuple(_report(path) for path in paths)
    if len(runs) == 1:
        return Report(runs, {})
    first, second = runs
    compared = {arm.name: found for arm in first.arms if (found := _between(arm.name, first, second)) is not None}
    if not compared:
        raise InputError(
            f"{second.path} shares no case, arm and seed with {first.path}",
            remedy="drill both agents with the same scenarios, packs and seed",
        )
    return Report(runs, compared)


def _between(name: str, first: RunReport, second: RunReport) -> Versus | None:
    return versus(second.outcomes.get(name, ()), paired(first.outcomes[name]))


def _report(path: Path) -> RunReport:
    facts, labels = read_facts(path), read_labels(path)
    outcomes: dict[str, list[Outcome]] = defaultdict(list)
    uses = {label: use for entry in facts["scenarios"] for label, use in entry.get("perturbations", {}).items()}
    meets: dict[str, dict[str, Meets]] = defaultdict(dict)
    for entry in facts["scenarios"]:
        if "meets" in entry:
            meets[entry["arm"]["name"]][entry["name"]] = entry["meets"]
    judging = {str(entry["name"]): entry.get("state_graders", ()) for entry in facts["scenarios"]}
    for trajectory in read_run(path):
        if not trajectory.arm:
            raise InputError("the run has no arms", remedy="name a folder that `simtrain drill` has written", file=path)
        state_graders = judging.get(trajectory.scenario, ())
        outcomes[trajectory.arm].append(outcome_of(trajectory, uses=uses, state_graders=state_graders))
    if CLEAN not in outcomes:
        raise InputError("the run holds no clean episode to compare with", remedy="--resume plays on", file=path)
    # Lines are in the order in which episodes ended, which varies between runs and must not affect a report.
    for found in outcomes.values():
        found.sort(key=lambda outcome: outcome.pairing)
    order = sorted(outcomes, key=lambda name: _place(name, facts))
    twins = paired(outcomes[CLEAN])
    measured = {name: measure(outcomes[name], twins=twins, name=name) for name in order}
    adjusted = holm(
        {name: found.versus.p for name, found in measured.items() if name not in (CLEAN, PRIMED) and found.versus}
    )
    # Over all arms: a fault that fired anywhere is not broken, whatever an arm did not meet.
    fired = {label for found in outcomes.values() for outcome in found for label in outcome.fired}
    arms = tuple(
        ArmReport(
            name,
            measured[name],
            adjusted.get(name),
            _labelled(outcomes[name], labels),
            *silence(outcomes[name], meets=meets[name], elsewhere=fired),
        )
        for name in order
    )
    perturbed = [outcome for name in order if name not in (CLEAN, PRIMED) for outcome in outcomes[name]]
    whole = measure(perturbed, twins=twins, name="all") if perturbed else None
    clean = outcomes[CLEAN]
    families = tuple(
        _family(name, clean, perturbed, twins) for name in sorted({outcome.pairing[0] for outcome in clean})
    )
    fixes = tuple(findings(distinct(perturbed), distinct(clean), twins))
    return RunReport(
        path, str(facts["agent"]["name"]), int(facts["seed"]), arms, whole, dict(outcomes), families, fixes
    )


def _family(
    name: str, clean: Sequence[Outcome], perturbed_outcomes: Sequence[Outcome], twins: Mapping[Pairing, Outcome]
) -> FamilyReport:
    own, others = ([one for one in outcomes if one.pairing[0] == name] for outcomes in (clean, perturbed_outcomes))
    perturbed = measure(others, twins=twins, name=f"family {name}") if others else None
    return FamilyReport(name=name, clean=measure(own, twins=twins, name=f"clean {name}"), perturbed=perturbed)


def _place(name: str, facts: JsonObject) -> tuple[int, float, str]:
    """Return the sort key of an arm: controls first, then the plan's order, and arms of one perturbation by severity."""
    if name in (CLEAN, PRIMED):
        return (-1, 0.0, name)
    what, _, severity = name.partition("@")
    planned = list(
        dict.fromkeys(entry["arm"]["name"].partition("@")[0] for entry in facts["scenarios"] if "arm" in entry)
    )
    return (planned.index(what) if what in planned else len(planned), float(severity or 0), name)


def _labelled(outcomes: Sequence[Outcome], labels: Mapping[tuple[str, str, str], Label]) -> dict[str, int]:
    pairs = {(outcome.pairing[0], outcome.arm, outcome.pairing[1]) for outcome in outcomes}
    found = [labels[pair] for pair in sorted(pairs) if pair in labels]
    return {label: found.count(label) for label in LABELS if label in found}


def silence(
    outcomes: Sequence[Outcome], *, meets: Mapping[str, Meets], elsewhere: Collection[str]
) -> tuple[Lines, Lines]:
    """Return the perturbations that fired in no arm at all, and the scenarios that an arm spared though it fired elsewhere.

    The first has proved nothing, whatever the reason. The second is not a fault of a pack: no call of the scenario matched (a family
    without writes, faults of writes), or the few that did were passed over by chance or are of a kind that it cannot perturb. `meets`
    says by scenario what may match; where a run does not say it, no reason is given.
    Among several perturbations one may hide another that fires alone. At severity 0 one may be nothing at all, and is not missed.
    """
    # At severity 0 many perturbations change nothing by design.
    if not outcomes[0].armed or outcomes[0].arm.endswith("@0"):
        return (), ()
    armed = dict.fromkeys(label for outcome in outcomes for label in outcome.armed)
    unfired = tuple(f"{label} never fired" for label in armed if label not in elsewhere)
    if len(unfired) == len(armed):
        return unfired, ()
    fired = {outcome.pairing[0] for outcome in outcomes if outcome.fired}
    scenarios = dict.fromkeys(outcome.pairing[0] for outcome in outcomes)
    calls = {name: _matching(name, outcomes, meets.get(name)) for name in scenarios if name not in fired}
    found = {
        "no call matches in": [name for name, count in calls.items() if count == 0],
        "calls match, none was struck in": [f"{name} ({count})" for name, count in calls.items() if count],
        "nothing fired in": [name for name, count in calls.items() if count is None],
    }
    return unfired, tuple(f"{words} {', '.join(names)}" for words, names in found.items() if names)


def _matching(scenario: str, outcomes: Sequence[Outcome], meets: Meets | None) -> int | None:
    """Return the number of a scenario's calls that a perturbation might have affected; None if unknown."""
    if meets is None:
        return None
    tools = {tool for known in meets.values() for tool in known}
    return sum(tool in tools for outcome in outcomes if outcome.pairing[0] == scenario for tool in outcome.called)


@dataclass(frozen=True, slots=True)
class WorstEpisode:
    """A trajectory, and what was wrong with it in a few words."""

    trajectory: Trajectory
    faults: tuple[str, ...]


def worst(run: RunReport, *, count: int = SHOWN) -> list[WorstEpisode]:
    """Return the worst trajectories, worst first: false success and duplicate writes, then runaways, then plain failures."""
    twins = paired(run.outcomes[CLEAN])
    found = [
        outcome
        for name, outcomes in run.outcomes.items()
        if name != CLEAN
        for outcome in outcomes
        if outcome.fired and _went_wrong(outcome, twins.get(outcome.pairing))
    ]
    found.sort(key=lambda one: (-gravity(one), one.arm, one.pairing))
    chosen: list[Outcome] = []
    for outcome in found:
        same = [other for other in chosen if other.arm == outcome.arm]
        if len(same) < PER_ARM and outcome.case not in [other.case for other in same]:
            chosen.append(outcome)
        if len(chosen) == count:
            break
    wanted = {(outcome.arm, outcome.pairing): outcome for outcome in chosen}
    read = {
        (trajectory.arm, pairing): trajectory
        # Read again, not kept: a drill's trajectories may take more memory than its measures by far.
        for trajectory in (read_run(run.path) if wanted else ())
        if (trajectory.arm, pairing := _pairing(trajectory)) in wanted
    }
    return [WorstEpisode(read[place], _faults(outcome)) for place, outcome in wanted.items()]


def gravity(outcome: Outcome) -> int:
    """Return how bad an episode is, from 0 to 7: doubled writes weigh most, then false success, then a runaway."""
    # The weights order the three: a doubled write outweighs the others together.
    return 4 * (outcome.duplicates > 0) + 2 * outcome.false_success + outcome.runaway


def _went_wrong(outcome: Outcome, twin: Outcome | None) -> bool:
    if outcome.duplicates > (twin.duplicates if twin else 0):
        return True
    return outcome.right is False and (twin is None or twin.right is not False)


def _faults(outcome: Outcome) -> tuple[str, ...]:
    faults: Sequence[tuple[bool, str]] = (
        (outcome.duplicates > 0, "wrote twice"),
        (outcome.false_success, "false success"),
        (outcome.runaway, "runaway"),
        (outcome.right is False and outcome.stop == "abstained", "gave up"),
        (outcome.stop == "failed", "broke down"),
    )
    return tuple(words for holds, words in faults if holds)


def _pairing(trajectory: Trajectory) -> tuple[str, str, int, int]:
    return (trajectory.scenario, trajectory.episode, trajectory.seed, trajectory.attempt)
