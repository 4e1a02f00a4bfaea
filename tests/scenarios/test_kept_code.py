"""A perturbation that rewrites code is refused where a grader lets no code change, and drills leave it out there."""

from pathlib import Path

import pytest

from simtrain import load_scenario
from simtrain.drills.plan import plan_drill
from simtrain.values.errors import InputError
from tests.support.sandboxes import opened

WORLD = """
kind: machine
name: shed
clock: {start: 2031-03-03T09:00:00Z, per_step: 0s}
hostname: oak
user: ann
users: {ann: {}}
files:
  - {path: /srv/sums/sums.py, content: "def total(prices):\\n    return sum(prices)\\n", owner: ann}
  - {path: /srv/sums/tests/test_sums.py, content: "def test_one():\\n    pass\\n", owner: ann}
"""
SCENARIO = """
name: sums
world: shed.yaml
domain: terminal
prompt: Do it.
cases: {rows: [{n: 1}]}
tools: ["*"]
"""
OWN = "perturbations: [{use: misleading_comment}]\n"
KEEPING = {
    "abstention": "{use: abstention, with: {changes_only: []}}",
    "final_state": "{use: final_state, with: {changes_only: [files.mode]}}",
    "forbidden": "{use: forbidden, with: {tables: [files]}}",
    "tests": "{use: tests, with: {directory: /srv/sums, unchanged: ['sums.py']}}",
}
OPEN = (
    "{use: abstention, with: {changes_only: [files]}}",
    "{use: abstention, with: {expect: false}}",
    "{use: final_state, with: {changes_only: [files.content]}}",
    "{use: tests, with: {directory: /srv/sums, unchanged: ['tests/*']}}",
)


def written(place: Path, rubric: str, more: str = "") -> Path:
    (place / "shed.yaml").write_text(WORLD)
    (place / "sums.yaml").write_text(f"{SCENARIO}rubric: [{rubric}]\n{more}")
    return place / "sums.yaml"


@pytest.mark.parametrize(("grader", "rubric"), KEEPING.items())
def test_a_scenario_that_lets_no_code_change_refuses_it_in_one_line(grader: str, rubric: str, tmp_path: Path) -> None:
    with opened("wasm"), pytest.raises(InputError) as caught:
        load_scenario(written(tmp_path, rubric, OWN))
    told = f"misleading_comment changes files of code, and the grader {grader} lets none change; leave it out of this scenario"
    assert str(caught.value).endswith(f"sums.yaml:9: perturbations: {told}")


@pytest.mark.parametrize("rubric", OPEN)
def test_a_scenario_that_lets_code_change_takes_it(rubric: str, tmp_path: Path) -> None:
    with opened("wasm"):
        assert len(load_scenario(written(tmp_path, rubric, OWN)).perturbations) == 1


def test_a_drill_leaves_it_out_and_plays_the_rest(tmp_path: Path) -> None:
    pack = tmp_path / "pack.yaml"
    pack.write_text("name: pack\nperturbations: [{use: misleading_comment}, {use: latency}]\n")
    found = plan_drill([load_scenario(written(tmp_path, KEEPING["forbidden"]))], packs=[str(pack)])
    assert found.arms == ("clean", "pack/latency", "pack")
    assert {idle.reason for idle in found.idle} == {
        "misleading_comment changes files of code, and the grader forbidden lets none change"
    }
    assert all(item.label == "latency" for scenario in found.scenarios for item in scenario.perturbations)
