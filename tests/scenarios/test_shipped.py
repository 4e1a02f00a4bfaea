"""What ships: every family is proved, and together they are as many and as varied as the documentation says."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from functools import cache

import pytest
import shipped_apps
from families import one_of_each_suite

from simtrain.contracts.plan import Plan
from simtrain.contracts.scenario import Scenario
from simtrain.scenarios.find import shipped_scenarios
from simtrain.scenarios.load import load_scenario_file
from simtrain.validation.prove import Proof, prove
from simtrain.worlds.service.world import ServiceWorld

pytestmark = pytest.mark.slow

# Questions over search worlds have tests of their own: test_shipped_search_worlds.
FAMILIES = {
    name: path
    for name, path in shipped_scenarios().items()
    if not name.startswith(("fiction/", "terminal_python/", "swe/"))
}
PLAYED = sorted({name.partition("/")[0] for name in FAMILIES})
# Machines have one tool and refuse as a shell does; apps refuse at their forms (tests/worlds/app).
APPS = tuple(app.name for app in shipped_apps.APPS)
SERVICES = [name for name in PLAYED if not name.startswith(("terminal", "swe")) and name not in APPS]
CASES = None if os.environ.get("SIMTRAIN_FULL") else 5
TYPED = "terminal_keys/"
"""Families of `terminal` once more, typed key by key."""


@cache
def family(name: str) -> Scenario:
    return load_scenario_file(FAMILIES[name], name)


def on_pages(name: str) -> bool:
    """True for a family of an app, which only the full run proves."""
    return name.partition("/")[0] in APPS


@cache
def proof(name: str) -> Proof:
    # A shell's script and a browser's page cost more than a call of SQL; all cases are proved in the full run.
    cases = 1 if on_pages(name) else 2 if name.startswith(("terminal", "swe/")) else CASES
    found = asyncio.run(prove(family(name), cases=cases if CASES else None))
    # What some case has to show, a few may not: all of them decide.
    return asyncio.run(prove(family(name))) if found.problems and CASES else found


def world(name: str) -> ServiceWorld:
    built = family(name).source.build()
    assert isinstance(built, ServiceWorld)
    return built


def plan(name: str) -> Plan:
    found = family(name).spec.reference
    assert found is not None
    return found


def writing() -> list[str]:
    """Families whose reference calls a tool that writes."""
    return [
        name
        for name in FAMILIES
        if any(tool.writes for tool in world(name).tools if tool.name in {step.call for step in plan(name).calls()})
    ]


@pytest.mark.parametrize("name", one_of_each_suite(FAMILIES))
def test_every_family_is_proved(name: str) -> None:
    assert proof(name).problems == []


def test_there_are_enough_families_and_cases() -> None:
    worlds = Counter(name.partition("/")[0] for name in FAMILIES if not name.startswith(TYPED))
    assert len(FAMILIES) >= 30 and min(worlds.values()) >= 3 and sum(count >= 6 for count in worlds.values()) >= 5


def test_no_two_families_have_the_same_sequence_of_calls() -> None:
    # What a shell or a browser is told makes the sequence; there an impossible twin may try what its twin does.
    sequences = Counter(
        tuple(step.call if family(name).source.kind == "service" else str(step) for step in plan(name).calls())
        for name in FAMILIES
        if not name.startswith(TYPED) and (family(name).source.kind == "service" or not family(name).spec.impossible)
    )
    assert [sequence for sequence, count in sequences.items() if count > 1] == []


@pytest.mark.full
def test_enough_families_take_ten_calls_and_cross_servers() -> None:
    long = [name for name in FAMILIES if not on_pages(name) and proof(name).calls[0] >= 10]
    crossing = [name for name in long if len({step.call.partition(".")[0] for step in plan(name).calls()}) > 1]
    assert len(long) >= 8 and len(crossing) >= 3


def test_enough_families_write_and_each_has_a_wrong_plan_and_a_check_against_it() -> None:
    solvable = [name for name in writing() if not family(name).spec.impossible]
    assert len(solvable) >= 15
    for name in solvable:
        assert family(name).spec.wrong is not None, name
        assert any(grading.gate for grading in family(name).grading), name


def test_impossible_families_have_a_twin_with_the_same_wording() -> None:
    impossible = [name for name in FAMILIES if family(name).spec.impossible]
    assert len(impossible) >= 4
    for name in impossible:
        twin = family(str(family(name).spec.twin))
        assert not twin.spec.impossible and twin.spec.prompt == family(name).spec.prompt


@pytest.mark.parametrize("name", SERVICES)
def test_every_world_has_the_size_that_it_should(name: str) -> None:
    inside = [family for family in FAMILIES if family.startswith(f"{name}/")]
    built = world(inside[0])
    rows = {table: built.query(f'select count(*) as n from "{table}"')[0]["n"] for table in built.columns()}
    assert 8 <= len(built.tools) <= 30
    assert len(rows) >= 4 and 200 <= sum(rows.values()) <= 2000


@pytest.mark.full
@pytest.mark.parametrize("name", SERVICES)
def test_at_least_five_refusals_of_every_world_are_met(name: str) -> None:
    met = set[str]().union(*(proof(family).rules for family in FAMILIES if family.startswith(f"{name}/")))
    assert len(met & set(world(next(family for family in FAMILIES if family.startswith(f"{name}/"))).rules)) >= 5
