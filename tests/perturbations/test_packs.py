"""The packs that ship: each loads, fits every family, says what it holds, and two that contradict each other are refused."""

from __future__ import annotations

import json
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest
from bakery import scenario, write_files

from simtrain import drill
from simtrain.agents.select import build_agent
from simtrain.contracts.registry import resolve
from simtrain.contracts.scenario import PackSpec
from simtrain.files.yaml_files import read_document
from simtrain.runs.rollout import rollout
from simtrain.scenarios.find import shipped_root, shipped_scenarios
from simtrain.scenarios.load import arm_pack, load_scenario_file, paradigm_of
from simtrain.values.errors import InputError

PACKS = sorted(path.stem for path in (shipped_root() / "perturbations").glob("*.yaml"))
RECOGNISED = {
    "crowded_toolbox", "dirty_data", "drifting_schema", "eventual_consistency", "flaky_network", "hostile_content", "impossible",
    "mixed_1", "mixed_2", "mixed_3", "mixed_4", "mixed_5", "permissions", "rate_limited_api", "silent_lies", "storage_full",
    "web_trouble",
}  # fmt: skip


def spec_of(pack: str) -> PackSpec:
    return read_document(shipped_root() / "perturbations" / f"{pack}.yaml").parse(PackSpec)


def test_the_packs_that_people_look_for_ship() -> None:
    assert set(PACKS) >= RECOGNISED


@pytest.mark.parametrize("pack", PACKS)
def test_a_pack_bears_the_name_of_its_file_and_says_what_goes_wrong(pack: str) -> None:
    spec = spec_of(pack)
    assert spec.name == pack and spec.description.endswith(".") and 30 < len(spec.description) < 200


@pytest.mark.parametrize("pack", PACKS)
def test_a_pack_fits_any_world(pack: str, tmp_path: Path) -> None:
    armed = load_scenario_file(write_files(tmp_path), "birthday", packs=[pack]).perturbations
    assert len(armed) == len(spec_of(pack).perturbations)


@pytest.mark.parametrize("pack", PACKS)
def test_a_pack_fits_what_ships(pack: str) -> None:
    for family in ("helpdesk/refund", "notes/move_page", "office/meeting_hours"):
        assert load_scenario_file(shipped_scenarios()[family], family, packs=[pack]).perturbations


def test_only_the_impossible_leaves_nothing_but_to_say_so() -> None:
    def hopeless(pack: str) -> bool:
        plugins = [resolve("perturbations", use.use) for use in spec_of(pack).perturbations]
        return all(set(plugin.traits.recoverable_by) <= {"abstain"} for plugin in plugins)

    assert [pack for pack in PACKS if hopeless(pack)] == ["impossible"]


def test_mixed_packs_hit_harder_from_one_to_five() -> None:
    mixed = [
        arm_pack(read_document(shipped_root() / "perturbations" / f"mixed_{number}.yaml")) for number in range(1, 6)
    ]
    severities = [[item.perturbation.severity for item in armed] for armed in mixed]
    assert all(max(one) <= min(next_one) for one, next_one in pairwise(severities))
    chances = [sum(float(item.when.probability or 0) for item in armed) for armed in mixed]  # type: ignore[arg-type]
    assert chances == sorted(chances) and len(set(chances)) == 5


def test_packs_combine_and_what_both_hold_is_known_by_the_pack(tmp_path: Path) -> None:
    both = load_scenario_file(write_files(tmp_path), "birthday", packs=["flaky_network", "eventual_consistency"])
    labels = [item.label for item in both.perturbations]
    assert labels == [
        "latency", "flaky_network.timeout_after", "timeout_before", "transient_error", "delayed_visibility", "stale_read",
        "eventual_consistency.timeout_after",
    ]  # fmt: skip


@pytest.mark.parametrize("one, other", list(combinations([pack for pack in PACKS if pack != "catalogue"], 2)))
async def test_any_two_packs_can_be_met_at_once(one: str, other: str, tmp_path: Path) -> None:
    found = load_scenario_file(write_files(tmp_path), "birthday", packs=[one, other])
    for episode in list(paradigm_of(found).episodes(found, seed=3, attempts=1))[:2]:
        played = await rollout(episode, build_agent("resilient"), name="resilient")
        assert played.stop.blame != "simulator" and played.reward is not None, played.stop


def test_the_same_pack_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'impossible.impossible_task' appears twice"):
        load_scenario_file(write_files(tmp_path), "birthday", packs=["impossible", "impossible"])


DRIFT = {"use": "argument_drift", "with": {"rename": {"cake_id": "product"}}}
CONFLICTS = [
    (DRIFT, {"use": "renamed_tools"}, "its errors would name some that the renamed tools do not take"),
    ({"use": "forced_pagination"}, {"use": "premature_finish_trap"}, "it takes away the cursors"),
]


@pytest.mark.parametrize(("one", "other", "why"), CONFLICTS)
@pytest.mark.parametrize("turned", [False, True])
def test_what_contradicts_each_other_is_refused_with_both_names_and_the_reason(
    one: dict[str, Any], other: dict[str, Any], why: str, turned: bool, tmp_path: Path
) -> None:
    both = [other, one] if turned else [one, other]
    with pytest.raises(InputError, match=rf"cannot be combined: .*{why}.*; remove one of them") as refused:
        load_scenario_file(write_files(tmp_path, more=f"perturbations: {json.dumps(both)}\n"), "birthday")
    assert f"'{one['use']}'" in str(refused.value) and f"'{other['use']}'" in str(refused.value)


def test_packs_that_contradict_each_other_are_refused_and_one_pack_may_hold_both(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'premature_finish_trap'.*'long_replies.forced_pagination'.*cursors"):
        load_scenario_file(write_files(tmp_path), "birthday", packs=["catalogue", "long_replies"])
    assert load_scenario_file(write_files(tmp_path), "birthday", packs=["catalogue"]).perturbations


def test_a_pack_arms_nothing_by_itself(tmp_path: Path) -> None:
    assert scenario(tmp_path).perturbations == ()


@pytest.mark.parametrize(
    ("perturbation", "problem"),
    [
        ({"use": "latency", "when": {"state": "select from nowhere"}}, "when.state: "),
        ({"use": "latency", "when": {"state": "delete from cakes"}}, "when.state: "),
        ({"use": "risky_state", "with": {"sql": ["update cakes set stok = 0"]}}, "sql[0]: "),
        ({"use": "risky_state", "with": {"sql": ["drop table cakes"]}}, "sql[0]: "),
        ({"use": "risky_state", "with": {"sql": ["update cakes set stock = :colour"]}}, "sql[0]: "),
        ({"use": "contrastive_state", "with": {"sql": ["update cakes set stock = 1", "nonsense"]}}, "sql[1]: "),
    ],
)
def test_sql_that_cannot_work_is_refused_before_anything_is_played(
    perturbation: dict[str, Any], problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as refused:
        load_scenario_file(write_files(tmp_path, more=f"perturbations: {json.dumps([perturbation])}\n"), "birthday")
    assert f"{perturbation['use']!r} cannot be used over the world 'bakery': {problem}" in str(refused.value)
    (tmp_path / "perturbations").mkdir()
    (tmp_path / "perturbations" / "bad.yaml").write_text(json.dumps({"name": "bad", "perturbations": [perturbation]}))
    with pytest.raises(InputError, match="cannot be used over the world 'bakery'"):
        drill([load_scenario_file(write_files(tmp_path), "birthday")], packs=["bad"], out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_sql_whose_values_are_only_known_later_is_taken(tmp_path: Path) -> None:
    risky = {"use": "risky_state", "with": {"sql": ["update cakes set stock = stock - :amount where id = :cake_id"]}}
    assert scenario(tmp_path, more=f"perturbations: {json.dumps([risky])}\n").perturbations
