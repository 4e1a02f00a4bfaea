"""What the default agent demonstrates in episodes without trouble, read from run folders by a scanner that shares no code with it."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from scanning import Scan, lines, scanned

from simtrain import drill, run
from simtrain.contracts.scenario import Scenario
from simtrain.scenarios.find import shipped_scenarios
from simtrain.scenarios.load import load_scenario_file

pytestmark = pytest.mark.slow

SERVICES = {
    name: path
    for name, path in shipped_scenarios().items()
    if not name.startswith(("fiction/", "terminal_python/", "swe/"))
}
READS_TOGETHER = [
    "airline/unseated_report", "forge/merge_candidates", "helpdesk/overdue_debtors", "helpdesk/recurring_revenue", "mailbox/unanswered",
    "notes/action_items", "office/visitor_list", "shop/best_voucher", "shop/returns_by_carrier",
]  # fmt: skip
"""Families whose plans hold reads that do not need each other's replies."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demonstrations") / "run"
    run(families(), out=folder, episodes=2 * len(SERVICES))
    return folder


def families(of: str = "") -> list[Scenario]:
    return [load_scenario_file(path, name) for name, path in SERVICES.items() if name.startswith(of)]


@pytest.fixture(scope="module")
def scan(folder: Path) -> Scan:
    return scanned(lines(folder))


@pytest.mark.full
def test_it_solves_every_family_and_gives_no_cause_for_complaint(folder: Path, scan: Scan) -> None:
    assert len({row["scenario"] for row in lines(folder)}) == len(SERVICES) >= 60
    assert scan.problems == {}


@pytest.mark.full
def test_words_stand_beside_calls_in_many_wordings(scan: Scan) -> None:
    assert scan.worded == scan.turns > 600
    assert len(scan.skeletons) >= 150


@pytest.mark.full
def test_reads_that_do_not_need_each_other_go_in_one_turn(scan: Scan) -> None:
    assert [name for name in READS_TOGETHER if not scan.together[name]] == []
    assert scan.calls > 1.05 * scan.turns


def test_the_same_seed_says_the_same_words(tmp_path: Path) -> None:
    run(families("helpdesk/"), out=tmp_path / "again", episodes=9)
    run(families("helpdesk/"), out=tmp_path / "more", episodes=9, workers=2)
    said = [sorted(json.dumps(row["turns"]) for row in lines(tmp_path / name)) for name in ("again", "more")]
    assert said[0] == said[1]


def _repeat(row: dict[str, Any]) -> None:
    row["turns"].insert(1, copy.deepcopy(row["turns"][0]))


def _invent(row: dict[str, Any]) -> None:
    row["turns"][0]["text"] = "I look at order 98431."


def _foresee(row: dict[str, Any]) -> None:
    found = json.loads(row["turns"][0]["steps"][0]["observation"]["text"])
    row["turns"][0]["text"] = f"I expect {found['customers'][0]['id']}."


def _tell(row: dict[str, Any]) -> None:
    row["turns"][0]["text"] = "The answer is near."


def _depend(row: dict[str, Any]) -> None:
    row["turns"][0]["steps"] += row["turns"][1]["steps"]


def _dump(row: dict[str, Any]) -> None:
    row["stop"]["reason"] = "abstained"
    row["turns"][-1]["text"] = 'CANNOT: {"error": "no"}'


@pytest.mark.full
@pytest.mark.parametrize(
    ("plant", "kind"),
    [
        (_repeat, "repeated"),
        (_invent, "not in view"),
        (_foresee, "not in view"),
        (_tell, "said too early"),
        (_depend, "dependent"),
        (_dump, "no sentence"),
    ],
)
def test_the_scanner_reports_what_is_planted(plant: Any, kind: str, folder: Path) -> None:
    row = next(row for row in lines(folder) if row["scenario"] == "helpdesk/refund")
    assert scanned(iter([row])).problems == {}
    plant(row)
    assert kind in scanned(iter([row])).problems


def test_a_tool_that_is_not_offered_is_declined_and_not_called(tmp_path: Path) -> None:
    pack = tmp_path / "gone.yaml"
    pack.write_text("name: gone\nperturbations: [{use: dropped_tool, with: {tools: ['*refund*', '*ticket*']}}]\n")
    drill(families("helpdesk/"), packs=[pack], cases=1, out=tmp_path / "out")
    dropped = [row for row in lines(tmp_path / "out") if row["arm"] != "clean"]
    declined = [row for row in dropped if row["stop"]["reason"] == "abstained"]
    assert len(declined) >= 3 and all(row["reward"] == 1.0 for row in declined)
    for row in dropped:
        offered = {tool["name"] for tool in row["tools"]}
        called = [step["action"]["tool"] for turn in row["turns"] for step in turn["steps"]]
        assert called and set(called[1:]) <= offered, row["scenario"]
