"""The primed arm, played: a language model that stands in for the world guesses when it is not told the state, and knows when it is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from bakery import WORLD
from drills import by_arm

from simtrain import drill, load_scenario
from simtrain.cli import main
from simtrain.testing import FakeOpenAI, Reply, Say
from simtrain.values.types import JsonObject

pytestmark = pytest.mark.slow

SCENARIO = """\
name: price
world: bakery.yaml
prompt: 'What does "{{{{ cake }}}}" cost?'
cases: {{sql: "select name as cake from cakes order by id", sample: 4}}
world_models: [{{use: chat, with: {{model: fake, base_url: "{url}", backoff: 0}}}}]
reference:
  steps:
    - {{call: cakes.get, with: {{name: "{{{{ cake }}}}"}}, as: found}}
  answer: "{{{{ found.price }}}}"
rubric:
  - {{use: answer, with: {{sql: "select price from cakes where name = :cake", as: number}}}}
"""
PACK = "name: rough\nperturbations: [{use: transient_error, when: {nth: 1}}]\n"
ROW = re.compile(r"^cakes: (\{.*\})$", re.MULTILINE)


def model(body: JsonObject) -> Reply:
    """A world model that reads what it is told of the cakes, and makes up what it is not told."""
    system, asked = body["messages"][0]["content"], body["messages"][-1]["content"]
    cakes: dict[str, Any] = {cake["name"]: cake for cake in map(json.loads, ROW.findall(system))}
    known = next((cake for name, cake in cakes.items() if f'"{name}"' in asked), None)
    cake = known or {"id": "K999", "name": "?", "price": 1.25, "stock": 1}
    return Say(json.dumps({key: cake[key] for key in ("id", "name", "price", "stock")}))


def write(folder: Path, url: str) -> Path:
    (folder / "bakery.yaml").write_text(WORLD)
    (folder / "perturbations").mkdir(exist_ok=True)
    (folder / "perturbations" / "rough.yaml").write_text(PACK)
    file = folder / "price.yaml"
    file.write_text(SCENARIO.format(url=url))
    return file


def test_what_the_model_s_guessing_costs_is_told_from_what_the_faults_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with FakeOpenAI(model) as server:
        result = drill([load_scenario(write(tmp_path, server.url))], "resilient", packs=["rough"], out="out")
    assert result.complete and result.report is not None
    arms = {arm.name: arm for arm in result.report.runs[0].arms}
    assert list(arms) == ["clean", "primed", "rough/transient_error"]
    assert [arm.measures.success.value for arm in arms.values()] == [0.0, 1.0, 0.0]
    assert arms["primed"].control and arms["primed"].measures.versus is not None
    assert arms["primed"].measures.versus.difference.mean == 1.0
    played = by_arm(tmp_path / "out")
    assert [one.case for one in played["clean"]] == [one.case for one in played["primed"]]
    for one in played["primed"]:
        answered = [step.observation.provenance for step in one.steps]
        assert answered and all(given is not None and given.model == "fake" for given in answered)
        assert one.perturbations == () and not any(step.events for step in one.steps)
    assert result.report.runs[0].perturbed is not None and result.report.runs[0].perturbed.episodes == 4


def test_the_plan_and_the_page_have_the_primed_arm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with FakeOpenAI(model) as server:
        write(tmp_path, server.url)
        words = ["drill", "price.yaml", "--pack", "rough"]
        for more in (["--plan", "--json"], ["--out", "out", "--fail-on", "primed:success<1"]):
            with pytest.raises(SystemExit) as ended:
                main([*words, *more])
            assert not ended.value.code
            if "--plan" in more:
                assert '"arm": "primed"' in capsys.readouterr().out and not server.chats
    assert "primed" in (tmp_path / "out" / "drill.html").read_text()
