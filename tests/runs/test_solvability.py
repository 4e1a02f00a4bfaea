"""Whether an episode can be done is known before it is graded, and decides what declining earns and who is to blame."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import bakery
import orjson
import pytest

from simtrain import grade, load_scenario, rollout, run
from simtrain.contracts.scenario import Episode
from simtrain.contracts.trajectory import Trajectory, to_line, trajectory_of
from simtrain.files.jsonl import whole_lines
from simtrain.public import episode
from simtrain.runs.run_folder import read_run
from simtrain.runs.solvability import knowing
from simtrain.runs.solvability.search import Solution
from simtrain.runs.trajectory_files import part_files

pytestmark = pytest.mark.slow

REFUSED = "perturbations: [{use: impossible_task}]\n"
PASSING = "perturbations: [{use: transient_error, when: {tools: '*', nth: 1, max_times: 1}}]\n"


async def played(folder: Path, agent: str, more: str = "") -> Trajectory:
    return await rollout(load_scenario(bakery.write_files(folder, more=more)), agent)


@pytest.mark.parametrize(
    ("more", "agent", "solvability", "reward", "blame"),
    [
        ("", "oracle", "solvable", 1, None),
        ("", "abstain", "solvable", 0, "agent"),
        ("", "claims_done", "solvable", 0, "agent"),
        (PASSING, "resilient", "solvable", 1, None),
        (PASSING, "abstain", "solvable", 0, "agent"),
        (REFUSED, "abstain", "unsolvable", 0, "agent"),
        (REFUSED, "resilient", "unsolvable", 1, None),
        (REFUSED, "claims_done", "unsolvable", 0, "agent"),
        (REFUSED, "naive", "unsolvable", 0, "agent"),
    ],
)
async def test_declining_earns_after_a_look_where_nothing_else_is_left_and_nowhere_else(
    more: str, agent: str, solvability: str, reward: float, blame: str | None, tmp_path: Path
) -> None:
    found = await played(tmp_path, agent, more)
    assert (found.solvability, found.reward, found.stop.blame) == (solvability, reward, blame)


async def test_of_what_no_search_can_prove_nothing_is_known_and_nobody_is_blamed(tmp_path: Path) -> None:
    file = bakery.write_files(tmp_path, more=REFUSED)
    text = file.read_text()
    file.write_text(text[: text.index("reference:")] + text[text.index("wrong:") :])
    found = await rollout(load_scenario(file), "abstain")
    assert (found.solvability, found.reward, found.stop.blame) == ("unproved", 0, None)


async def test_a_family_that_says_so_itself_is_unsolvable_and_to_decline_it_earns_after_a_call() -> None:
    family = load_scenario("helpdesk/refund_not_due")
    found, blind = await rollout(family, "resilient"), await rollout(family, "abstain")
    assert (found.solvability, found.stop.reason, found.reward) == ("unsolvable", "abstained", 1)
    assert [reward.grader for reward in found.rewards] == [item.label for item in family.grading]
    assert (blind.reward, blind.rewards[-1].grader, blind.stop.blame) == (0, "acted", "agent")


def test_attempts_and_agents_share_one_search_and_those_that_succeed_need_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[str] = []

    async def counted(episode: Episode) -> Solution:
        searched.append(episode.id)
        return await solve(episode)

    solve = knowing.solve
    monkeypatch.setattr(knowing, "solve", counted)
    monkeypatch.setattr(knowing, "_found", type(knowing._found)())
    scenarios = [load_scenario(bakery.write_files(tmp_path, more=PASSING))]
    run(scenarios, "resilient", out=tmp_path / "good", attempts=2)
    assert searched == []
    for agent in ("abstain", "claims_done"):
        run(scenarios, agent, out=tmp_path / agent, attempts=3)
    assert sorted(searched) == sorted({item.episode for item in read_run(tmp_path / "abstain")})


def test_grading_again_tells_it_of_runs_that_were_written_without(tmp_path: Path) -> None:
    scenario = load_scenario(bakery.write_files(tmp_path, more=REFUSED))
    run([scenario], "resilient", out=tmp_path / "run", episodes=3)
    before = {item.key: item for item in read_run(tmp_path / "run")}
    assert {(item.solvability, item.reward) for item in before.values()} == {("unsolvable", 1.0)}
    (part,) = part_files(tmp_path / "run")
    older = [line.replace(b'"solvability":"unsolvable",', b"") for _, line in whole_lines(part)]
    part.write_bytes(b"".join(line.rstrip(b"\n") + b"\n" for line in older))
    assert {item.solvability for item in read_run(tmp_path / "run")} == {"unproved"}
    grade(tmp_path / "run")
    assert {item.key: to_line(item) for item in read_run(tmp_path / "run")} == {
        key: to_line(item) for key, item in before.items()
    }


async def test_the_search_does_not_wait_where_delays_are_real(tmp_path: Path) -> None:
    slow = "perturbations: [{use: latency, with: {seconds: 40}}, {use: impossible_task}]\n"
    scenario = load_scenario(bakery.write_files(tmp_path, more=slow))
    found = await asyncio.wait_for(rollout(replace(episode(scenario), real_time=True), "abstain"), 30)
    assert found.solvability == "unsolvable"


def test_an_older_line_says_that_nothing_is_known(tmp_path: Path) -> None:
    found = asyncio.run(played(tmp_path, "oracle"))
    record = orjson.loads(to_line(found))
    del record["solvability"]
    assert trajectory_of(record).solvability == "unproved"
