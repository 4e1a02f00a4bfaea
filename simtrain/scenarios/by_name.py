"""Load scenarios by name, and one of their episodes by its case number."""

from pathlib import Path

from simtrain.contracts.scenario import Episode, Scenario
from simtrain.scenarios.find import find_scenarios
from simtrain.scenarios.load import load_scenario_file, paradigm_of
from simtrain.values.errors import InputError


def load_scenario(name: str | Path) -> Scenario:
    """Return the one scenario for a name (`helpdesk/refund`) or a file. Raises InputError, also for a suite of
    several.
    """
    found = load_scenarios(str(name))
    if len(found) > 1:
        raise InputError(f"{str(name)!r} names {len(found)} scenarios", remedy="name one, or use load_scenarios")
    return found[0]


def load_scenarios(*names: str) -> list[Scenario]:
    """Return all scenarios for names, suites, files and folders, without repetition, in order. Raises InputError."""
    files: dict[str, Path] = {}
    for name in names:
        files.update(find_scenarios(name))
    return [load_scenario_file(path, name) for name, path in files.items()]


def episode(scenario: Scenario, *, case: int = 0, seed: int = 0, attempt: int = 0) -> Episode:
    """Return one episode of a scenario: its case number `case`, counted over the cases and then the variants of its world. Raises
    InputError.
    """
    for number, found in enumerate(paradigm_of(scenario).episodes(scenario, seed=seed, attempts=1)):
        if number == case:
            return Episode(scenario, found.id, found.case, found.variant, seed, attempt)
    raise InputError(f"{scenario.name} has no case {case}")
