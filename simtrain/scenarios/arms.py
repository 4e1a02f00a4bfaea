"""Build the scenario that is played in an arm of a paired comparison."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from simtrain.contracts.perturbation import Armed, Ramp
from simtrain.contracts.scenario import Answering, PackSpec, Scenario
from simtrain.contracts.tool_globs import matches
from simtrain.files.yaml_files import read_document
from simtrain.perturbations.attacks.grading import with_attacks
from simtrain.scenarios.cases import first_case
from simtrain.scenarios.find import find
from simtrain.scenarios.load import arm_pack, code_kept
from simtrain.values.arm import Arm
from simtrain.values.types import JsonValue, ToolSpec, canonical

OWN = "own"
# The rows go into the prompt of every call of a language world model.
MOST_ROWS = 60
MOST_LETTERS = 40_000


@dataclass(frozen=True)
class Bundle:
    """Perturbations that belong together: those of a pack, or a scenario's own. `armed` is keyed by their names in it."""

    name: str
    armed: dict[str, Armed]
    data: JsonValue


def bundles(scenario: Scenario, packs: tuple[str, ...], severity: float | None = None) -> tuple[Bundle, ...]:
    """Return the perturbations of some packs, or the scenario's own if none is named; `severity` applies where they
    leave it open.

    A label used by several of the packs becomes `pack.label`, in whichever arm it is armed. Raises InputError.
    """
    if not packs:
        armed = {item.label: _as_hard(item, severity) for item in scenario.perturbations}
        return (Bundle(OWN, armed, None),)
    found = [
        _bundle(path, path.stat().st_mtime_ns, severity) for path in (find("perturbations", pack) for pack in packs)
    ]
    often = Counter(label for bundle in found for label in bundle.armed)
    return tuple(
        replace(
            bundle,
            armed={
                name: replace(item, label=f"{bundle.name}.{name}") if often[name] > 1 else item
                for name, item in bundle.armed.items()
            },
        )
        for bundle in found
    )


def armed(scenario: Scenario, arm: Arm) -> Scenario:
    """Return the scenario of one arm. All arms share name and labels, and with them the schedule of faults.

    Raises InputError for a pack that cannot be used.
    """
    found = bundles(scenario, arm.packs, arm.severity)
    perturbations = tuple(
        _as_likely(item, arm.chance) for bundle in found for item in bundle.armed.values() if item.label in arm.labels
    )
    packs = [bundle.data for bundle in found if any(item.label in arm.labels for item in bundle.armed.values())]
    spec, cases = scenario.spec, scenario.spec.cases
    if arm.cases is not None:
        sample = arm.cases if cases.sample is None else min(arm.cases, cases.sample)
        spec = spec.model_copy(update={"cases": cases.model_copy(update={"sample": sample})})
    answering = primed(scenario) if arm.primed else scenario.answering
    grading = with_attacks(scenario.grading, perturbations)
    inside = scenario.under(arm, perturbations=perturbations, made_of=packs)
    return replace(inside, spec=spec, answering=answering, grading=grading)


def offered_tools(scenario: Scenario) -> tuple[ToolSpec, ...]:
    """Return the tools of its world that a scenario offers."""
    return tuple(tool for tool in scenario.source.build().tools if matches(tool.name, tuple(scenario.spec.tools)))


def idle_because(item: Armed, scenario: Scenario, offered: Sequence[ToolSpec]) -> str | None:
    """Return why a perturbation is left out of a scenario: it reaches no tool, or a grader forbids what it does; None if it fits."""
    return unfit(item, scenario) if reachable_tools(item, offered) else f"{item.label} matches none of its tools"


def unfit(item: Armed, scenario: Scenario) -> str | None:
    """Return why a perturbation does what a grader of a scenario forbids to everybody; None if it does not."""
    if not item.perturbation.traits.rewrites_code:
        return None
    world = scenario.source.build(scenario.variants[0][1])
    case = first_case(scenario.spec.cases, world, scenario.document)
    return code_kept(item, scenario.grading, world, case)


def reachable_tools(item: Armed, offered: Sequence[ToolSpec]) -> list[str]:
    """Return the tools whose calls may match a perturbation."""
    globs = (item.when.tools,) if isinstance(item.when.tools, str) else tuple(item.when.tools)
    return [
        tool.name
        for tool in offered
        if matches(tool.name, globs)
        and (item.when.writes is None or tool.writes is item.when.writes)
        and item.perturbation.reaches(tool)
    ]


def primed(scenario: Scenario) -> tuple[Answering, ...]:
    """Return the world models with every language model primed with the world's state; unchanged if none can be primed."""
    return tuple(_primed(item, scenario) for item in scenario.answering)


def _primed(answering: Answering, scenario: Scenario) -> Answering:
    model = answering.world_model
    if not {"initial_state", "hidden_state"} <= set(type(model).model_fields):
        return answering
    written = getattr(model, "hidden_state")  # noqa: B009  the knob of some world models, not of the contract
    hidden = "\n\n".join(part for part in (written.strip(), _rows(scenario)) if part)
    primed_model = model.model_copy(update={"initial_state": "world", "hidden_state": hidden})
    return replace(answering, world_model=primed_model)


@lru_cache(maxsize=64)
def _rows(scenario: Scenario) -> str:
    """Return the first rows of every table, a line each, for a world that is not varied."""
    # Rows of one variant would be wrong in the others.
    if scenario.spec.vary is not None:
        return ""
    world = scenario.source.build()
    lines: list[str] = []
    for table in sorted(world.columns()):
        rows = world.query(f'select * from "{table}" limit {MOST_ROWS}')
        lines += [f"{table}: {canonical(row).decode()}" for row in rows]
    return "\n".join(lines)[:MOST_LETTERS]


@lru_cache(maxsize=512)
def _bundle(path: Path, _: int, severity: float | None) -> Bundle:
    document = read_document(path)
    pack = document.parse(PackSpec)
    armed = {item.label: _as_often(item, pack.severity, severity) for item in arm_pack(document, severity=severity)}
    return Bundle(pack.name, armed, document.data)


def _as_hard(item: Armed, severity: float | None) -> Armed:
    if severity is None or "severity" in item.perturbation.model_fields_set:
        return item
    harder = replace(item, perturbation=item.perturbation.model_copy(update={"severity": severity}))
    return _as_often(harder, item.perturbation.severity, severity)


def _as_often(item: Armed, usual: float, severity: float | None) -> Armed:
    """Return the perturbations with probabilities scaled by severity; `usual` is the severity for the written
    probability.

    Triggers without a probability, and perturbations with their own severity, are unchanged.
    """
    own = item.when.probability
    if severity is None or own is None or not usual or item.perturbation.severity != severity:
        return item
    # The scaled probability may not exceed 1 at either end of a ramp.
    most = max(own.start, own.end) if isinstance(own, Ramp) else own
    share = min(severity / usual, 1 / most) if most else 1
    return _as_likely(item, share)


def _as_likely(item: Armed, chance: float) -> Armed:
    if chance == 1:
        return item
    own = item.when.probability
    probability = own.times(chance) if isinstance(own, Ramp) else (1.0 if own is None else own) * chance
    return replace(item, when=item.when.model_copy(update={"probability": probability}))
