"""The report of a drill: the measures of every arm of one or two runs, faults that never fired, and how two runs compare."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from simtrain.drills.findings import Finding, findings
from simtrain.drills.measures import Measures, Versus, measure, versus
from simtrain.drills.outcome import Outcome, Pairing, distinct, outcome_of, paired
from simtrain.drills.silence import Meets, silence
from simtrain.drills.solvability import Solvability, read_labels
from simtrain.drills.statistics import holm
from simtrain.runs.run_folder import read_facts, read_run
from simtrain.values.arm import CLEAN, PRIMED
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject

FORMAT = "simtrain-drill/1"


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


def _labelled(outcomes: Sequence[Outcome], labels: Mapping[tuple[str, str, str], Solvability]) -> dict[str, int]:
    pairs = {(outcome.pairing[0], outcome.arm, outcome.pairing[1]) for outcome in outcomes}
    found = [labels[pair].value for pair in sorted(pairs) if pair in labels]
    return {label.value: found.count(label.value) for label in Solvability if label.value in found}
