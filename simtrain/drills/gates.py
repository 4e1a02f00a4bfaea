"""Conditions on which a drill fails, for use in CI: `success<0.9`, `duplicate-write`, `flaky_network*:recovery<0.8`."""

import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from simtrain.drills.measures import Measures
from simtrain.drills.report import RunReport
from simtrain.values.errors import InputError, nearest

_GATE = re.compile(r"(?:(?P<arms>[^:<>=]+):)?(?P<measure>[a-z@^0-9-]+)(?:(?P<relation>[<>]=?)(?P<bound>-?[0-9.]+))?")
_RELATIONS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_MEASURES: dict[str, Callable[[Measures], float | None]] = {
    "success": lambda found: found.success.value,
    "difference": lambda found: found.versus.difference.mean if found.versus else None,
    "recovery": lambda found: found.recovery.value,
    "runaway": lambda found: found.runaway.value,
    "false-success": lambda found: found.false_success.value,
    "false-failure": lambda found: found.false_failure.value,
    "duplicate-write": lambda found: found.duplicate_writes.value,
    "abstention": lambda found: found.abstention.value,
    "needless-abstention": lambda found: found.needless_abstention.value,
    "attack-success": lambda found: found.attack_success.value,
    "extra-calls": lambda found: found.extra_calls.mean if found.extra_calls else None,
    "extra-tokens": lambda found: found.extra_tokens.mean if found.extra_tokens else None,
    "cost": lambda found: found.cost,
}
HAPPENINGS = (
    "runaway", "false-success", "false-failure", "duplicate-write", "needless-abstention", "attack-success",
)  # fmt: skip
"""Measures that need no bound: any occurrence counts."""


@dataclass(frozen=True, slots=True)
class Gate:
    """One condition as it was written. Without `arms` it is tested on all perturbed episodes together, else on each arm whose
    name matches the glob.
    """

    text: str
    arms: str | None
    measure: str
    relation: str
    bound: float

    def failures(self, run: RunReport) -> Iterator[str]:
        """Yield one line for each arm in which the condition holds. Raises InputError if no arm matches the glob."""
        yield from (f"{run.agent}, {check.where}: {check.problem}" for check in self.checks(run) if check.problem)

    def checks(self, run: RunReport) -> Iterator["GateCheck"]:
        """Yield the condition tested on each arm that it applies to. Raises InputError if no arm matches the glob."""
        if self.arms is None:
            found = [("all perturbed episodes", run.perturbed)] if run.perturbed else []
        else:
            found = [(arm.name, arm.measures) for arm in run.arms if fnmatchcase(arm.name, self.arms)]
            if not found:
                names = [arm.name for arm in run.arms]
                raise InputError(f"--fail-on {self.text!r}: no arm has such a name", remedy=nearest(self.arms, names))
        yield from (GateCheck(self, name, self._problem(measures)) for name, measures in found)

    def _problem(self, measures: Measures) -> str | None:
        value = value_of(measures, self.measure)
        # These count occurrences: without a chance to occur, none occurred.
        if value is None and self.measure in HAPPENINGS:
            return None
        if value is None:
            # CI must not pass because a measure is missing: an unchecked condition fails.
            why = " (identical attempts count once)" if measures.identical and "pass" in self.measure else ""
            return f"{self.measure} cannot be told from what was played{why} ({self.text})"
        holds = _RELATIONS[self.relation](value, self.bound)
        return f"{self.measure} is {value:.4g} ({self.text})" if holds else None


@dataclass(frozen=True, slots=True)
class GateCheck:
    """A condition tested on one arm, or on all perturbed episodes; `problem` says how it holds, and is None if it does not."""

    gate: Gate
    where: str
    problem: str | None


def read_gate(text: str) -> Gate:
    """Parse a condition. Raises InputError."""
    parts = _GATE.fullmatch(text.replace(" ", ""))
    if parts is None:
        raise InputError(
            f"--fail-on {text!r} is not a condition", remedy="write it like success<0.9 or clean:success<1"
        )
    measure, relation, bound = parts["measure"], parts["relation"], parts["bound"]
    if measure not in _MEASURES and not re.fullmatch(r"pass[@^][1-9]\d*", measure):
        raise InputError(f"--fail-on {text!r}: unknown measure {measure!r}", remedy=nearest(measure, _MEASURES))
    if relation is None:
        if measure not in HAPPENINGS:
            raise InputError(f"--fail-on {text!r} has no bound", remedy=f"write it like {measure}<0.9")
        return Gate(text, parts["arms"], measure, ">", 0.0)
    try:
        return Gate(text, parts["arms"], measure, relation, float(bound))
    except ValueError:
        raise InputError(f"--fail-on {text!r}: {bound!r} is not a number") from None


def value_of(measures: Measures, name: str) -> float | None:
    """Return a measure by the name that conditions use (`success`, `pass@2`); None if it cannot be told from what was played."""
    if name in _MEASURES:
        return _MEASURES[name](measures)
    table = measures.at_least_once if name.startswith("pass@") else measures.every_time
    return table.get(int(name[5:]))
