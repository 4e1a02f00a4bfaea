"""`simtrain validate` catches what it claims to catch: one spoilt family for each claim."""

from __future__ import annotations

from pathlib import Path

import pytest
from bakery import SCENARIO, WORLD

from simtrain.scenarios.load import load_scenario_file, paradigm_of
from simtrain.validation.prove import Proof, prove
from simtrain.values.errors import InputError

TOO_MANY = """\
name: family
world: bakery.yaml
prompt: 'Order 900 of "{{ cake }}".'
cases: {sql: "select name as cake from cakes", sample: 4}
impossible: true
reference:
  steps:
    - {call: cakes.get, with: {name: '{{ cake }}'}, as: found}
    - {call: orders.place, with: {cake_id: '{{ found.id }}', amount: 900}, as: order}
  abstain: '{{ order.error }}'
rubric: [{use: abstention}]
"""
RUBRIC = "  - use: final_state"
TWICE = "[{cake: x, n: 1}, {cake: x, n: 2}]"
READING = """\
name: reading
world: bakery.yaml
prompt: 'How much does "{{{{ cake }}}}" cost?'
cases: {{sql: select name as cake from cakes where price > 11, sample: 5}}
reference:
  steps: [{{call: cakes.get, with: {{name: "{{{{ cake }}}}"}}, as: found}}]
  answer: "{answer}"
rubric:
  - {{use: answer, with: {{sql: "{gold}", as: number}}}}
"""
GOLD = "select price * 100 from cakes where name = :cake"
ANSWER = "{{ found.price * 100 }}"


async def proved(folder: Path, scenario: str, *, world: str = WORLD) -> Proof:
    (folder / "bakery.yaml").write_text(world)
    file = folder / "family.yaml"
    file.write_text(scenario)
    return await prove(load_scenario_file(file, "family"))


def reading(*, answer: str = ANSWER, gold: str = GOLD) -> str:
    return READING.format(answer=answer, gold=gold)


def ordering(*changes: tuple[str, str]) -> str:
    text = SCENARIO.format(world="bakery.yaml", more="")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


async def test_sound_families_are_proved(tmp_path: Path) -> None:
    found = await proved(tmp_path, ordering())
    assert (found.problems, found.cases, found.calls) == ([], 12, (3, 3))
    assert (await proved(tmp_path, reading())).problems == []


@pytest.mark.parametrize(
    ("scenario", "problem"),
    [
        (reading(answer="{{ found.price }}"), "the oracle earns 0"),
        (reading(answer="{{ found.nothing }}"), "the plan cannot go on"),
        (reading(answer="4200", gold="select 4200 where :cake <> ''"), "does not depend on the world"),
        (
            ordering(("select count(*) = 1 from placed where name = :cake and amount = 2", "select :cake <> ''")),
            "earns 1",
        ),
        (
            ordering(('{sql: "select name as cake from cakes where stock > 2", sample: 12}', TWICE)),
            "2 cases have the same prompt",
        ),
        (ordering(("where name <> :cake", "where 0")), "trips no forbidden-effect check"),
        (ordering((RUBRIC, "  - {use: tool_use, with: {max_calls: 50}}\n" + RUBRIC + "\n    gate: false")), "not 0"),
    ],
    ids=[
        "wrong answer",
        "broken plan",
        "gold from nowhere",
        "idle agents win",
        "same prompts",
        "toothless check",
        "declining pays",
    ],
)
async def test_an_unsound_family_is_found_out(scenario: str, problem: str, tmp_path: Path) -> None:
    found = await proved(tmp_path, scenario)
    assert any(problem in line for line in found.problems), found.problems


async def test_a_single_case_whose_gold_is_from_nowhere_is_found_out(tmp_path: Path) -> None:
    (tmp_path / "bakery.yaml").write_text(WORLD)
    (tmp_path / "family.yaml").write_text(reading())
    scenario = load_scenario_file(tmp_path / "family.yaml", "family")
    *_, episode = paradigm_of(scenario).episodes(scenario, seed=0, attempts=1)
    last = episode.case["cake"]
    answer, gold = (
        f"{{{{ 4200 if cake == '{last}' else found.price * 100 }}}}",
        f"case :cake when '{last}' then 4200 else",
    )
    found = await proved(
        tmp_path, reading(answer=answer, gold=f"select {gold} (select price * 100 from cakes where name = :cake) end")
    )
    assert len(found.problems) == 1 and "does not depend on the world" in found.problems[0], found.problems


async def test_a_gold_that_is_not_unique_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not unique"):
        await proved(tmp_path, reading(gold="select price * 100 from cakes"))


async def test_a_family_that_writes_needs_a_wrong_plan(tmp_path: Path) -> None:
    text = ordering()
    found = await proved(tmp_path, text[: text.index("wrong:")] + text[text.index("rubric:") :])
    assert any("needs a `wrong` plan" in line for line in found.problems)


async def test_a_gold_value_in_a_tools_description_is_a_leak(tmp_path: Path) -> None:
    scenario = reading(
        answer="{{ found.name ~ ' sold' }}", gold="select name || ' sold' from cakes where name = :cake"
    ).replace("as: number", "as: text")
    clean = await proved(tmp_path, scenario)
    assert clean.problems == []
    name = next(line for line in (await _names(tmp_path)) if line)
    spoilt = WORLD.replace("description: All cakes by name.", f"description: 'All cakes by name, such as {name} sold.'")
    found = await proved(tmp_path, scenario.replace(", sample: 5", ""), world=spoilt)
    assert any("is in the description of cakes.list" in line for line in found.problems)


async def _names(folder: Path) -> list[str]:
    built = load_scenario_file(folder / "family.yaml", "family").source.build()
    return [row["name"] for row in built.query("select name from cakes where price > 11 order by name")]


async def test_a_reply_without_a_full_order_is_found_out(tmp_path: Path) -> None:
    listed = "select id, amount, placed_at from orders where cake_id = :cake_id"
    loose = WORLD.replace(f"{listed} order by placed_at, id", f"{listed} and amount > 0")
    assert loose != WORLD
    found = await proved(tmp_path, ordering(("{{ all.orders[-1].id }}", "{{ order.id }}")), world=loose)
    assert any("ORDER BY" in line for line in found.problems), found.problems


async def test_a_twin_must_read_the_same_and_end_otherwise(tmp_path: Path) -> None:
    (tmp_path / "twin.yaml").write_text(reading().replace("How much does", "What does"))
    found = await proved(tmp_path, reading() + "twin: twin.yaml\n")
    assert any("reads otherwise" in line for line in found.problems) and any(
        "same outcome" in line for line in found.problems
    )


async def test_an_impossible_family_is_proved_by_declining(tmp_path: Path) -> None:
    found = await proved(tmp_path, TOO_MANY)
    assert found.problems == [] and found.rules == {"sold_out"}
