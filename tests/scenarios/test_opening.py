"""Before the first turn: episodes that cannot be opened are recorded failures, and models that perturbations need are asked for first."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Literal

import pytest
from bakery import scenario, write_files
from serving_bakery import serving

from simtrain import load_scenario, rollout, run
from simtrain.cli import main
from simtrain.contracts.perturbation import Armed, Perturbation, Traits, When
from simtrain.contracts.scenario import Scenario
from simtrain.contracts.trajectory import trajectory_of
from simtrain.runs.run_folder import read_run
from simtrain.scenarios.load import load_scenario_file
from simtrain.testing import FakeOpenAI, Say
from simtrain.values.errors import InputError, ModelFault, SimulatorFault
from simtrain.values.seeding import Stream
from simtrain.values.types import ToolSpec

pytestmark = pytest.mark.slow


class Broken(Perturbation):
    """Breaks down before the first turn."""

    traits: ClassVar[Traits] = Traits(side="manifest", layer="P")

    at: Literal["offer", "ask"]
    with_: Literal["fault", "model", "bug"]

    def offer(self, tools: tuple[ToolSpec, ...], rng: Stream) -> tuple[ToolSpec, ...]:
        return self._break(tools) if self.at == "offer" else tools

    def ask(self, prompt: str, rng: Stream) -> str:
        return str(self._break(())) if self.at == "ask" else prompt

    def _break(self, tools: tuple[ToolSpec, ...]) -> tuple[ToolSpec, ...]:
        if self.with_ == "bug":
            raise KeyError("tools")
        raise (SimulatorFault if self.with_ == "fault" else ModelFault)("the oven is cold")


def broken(folder: Path, perturbation: Perturbation) -> Scenario:
    return replace(scenario(folder), perturbations=(Armed("broken", "broken", When(), perturbation),))


@pytest.mark.parametrize("at", ["offer", "ask"])
@pytest.mark.parametrize(
    ("how", "blame", "detail"),
    [
        ("fault", "simulator", "the oven is cold"),
        ("bug", "simulator", "KeyError: 'tools'"),
        ("model", None, "the oven is cold"),
    ],
)
def test_an_episode_that_cannot_be_opened_is_one_failure_and_the_run_goes_on(
    at: Literal["offer", "ask"], how: Literal["fault", "model", "bug"], blame: str | None, detail: str, tmp_path: Path
) -> None:
    (tmp_path / "fine").mkdir()
    fine = load_scenario_file(write_files(tmp_path / "fine"), "fine")
    result = run([broken(tmp_path, Broken(at=at, with_=how)), fine], "oracle", out=tmp_path / "run", episodes=4)
    assert (result.played, result.failed, result.interrupted) == (4, 2, False)
    rows = [json.loads(line) for line in (tmp_path / "run" / "failures.jsonl").read_text().splitlines()]
    assert len(rows) == 2
    for row in rows:
        assert row["stop"] == {"reason": "failed", "blame": blame, "detail": detail}
        lost = trajectory_of(row)
        assert (lost.turns, lost.reward, lost.world.name, lost.perturbations) == ([], None, "bakery", ("broken",))
    assert [one.reward for one in read_run(tmp_path / "run")] == [1.0, 1.0]


def test_it_is_played_again_on_resume(tmp_path: Path) -> None:
    run([broken(tmp_path, Broken(at="ask", with_="fault"))], "oracle", out=tmp_path / "run", episodes=2)
    result = run([scenario(tmp_path)], "oracle", out=tmp_path / "run", episodes=2, resume=True)
    assert (result.played, result.failed) == (2, 0)


async def test_the_control_plane_says_why_an_episode_was_not_opened_and_serves_on(tmp_path: Path) -> None:
    async with serving([broken(tmp_path, Broken(at="ask", with_="fault"))]) as served:
        reply = await served.control.post("/episodes", json={})
        assert (reply.status_code, reply.json()) == (503, {"error": "the oven is cold"})
        assert (await served.control.get("/episodes")).json() == {"episodes": []}


WRITERS = ("distracting_text", "misleading_error", "prompt_injection", "paraphrased_docs", "noisy_request")


@pytest.mark.parametrize("use", WRITERS)
def test_a_model_that_a_perturbation_needs_is_asked_for_before_anything_is_spent(use: str, tmp_path: Path) -> None:
    with FakeOpenAI(lambda _: Say("ok"), models=["fake"]) as server:
        for model, known in (("fake", True), ("fakee", False)):
            writer = json.dumps({"model": model, "base_url": server.url})
            found = load_scenario(
                write_files(tmp_path, more=f"perturbations: [{{use: {use}, with: {{writer: {writer}}}}}]")
            )
            if known:
                asyncio.run(found.perturbations[0].perturbation.ready())
                continue
            with pytest.raises(InputError, match="did you mean 'fake'"):
                run([found], "oracle", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_model_is_asked_for_once_however_many_arms_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with FakeOpenAI(lambda _: Say('{"text": "Our shop is closed on Sundays."}')) as server:
        (tmp_path / "perturbations").mkdir()
        writer = json.dumps({"model": "fake", "base_url": server.url})
        (tmp_path / "perturbations" / "words.yaml").write_text(
            f"name: words\nperturbations:\n  - {{use: distracting_text, with: {{passages: 1, writer: {writer}}}}}\n"
            "  - {use: latency}\n"
        )
        write_files(tmp_path)
        with pytest.raises(SystemExit) as ended:
            main(["drill", "birthday.yaml", "--pack", "words", "-n", "2", "--out", "out", "--json"])
        asked = [request for request in server.requests if request.path.endswith("/models")]
        assert (ended.value.code or 0, len(asked)) == (0, 1)
    assert json.loads(capsys.readouterr().out)["runs"][0]["unfired"] == []


async def test_a_served_perturbation_asks_for_its_model_too(tmp_path: Path) -> None:
    with FakeOpenAI(lambda _: Say("ok"), models=["fake"]) as server:
        writer = json.dumps({"model": "other", "base_url": server.url})
        more = f"perturbations: [{{use: noisy_request, with: {{writer: {writer}}}}}]"
        with pytest.raises(InputError, match="no model"):
            async with serving([scenario(tmp_path, more=more)]):
                pass


async def test_a_rollout_of_one_episode_says_it_too(tmp_path: Path) -> None:
    trajectory = await rollout(broken(tmp_path, Broken(at="offer", with_="fault")), "oracle")
    assert (trajectory.stop.blame, trajectory.stop.detail) == ("simulator", "the oven is cold")
