"""drill.json against a second reckoning that shares no code with the first, over drills of agents good, blind and moody."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from drill_twice import measured
from drills import write_bakery

from simtrain.contracts.agent import Briefing, Loop, StepFunction
from simtrain.drills import measures
from simtrain.drills.drill import drill
from simtrain.drills.plan import plan_drill
from simtrain.drills.report import report_on
from simtrain.drills.statistics import Estimate
from simtrain.public import load_scenarios
from simtrain.runs.runner import RunOptions
from simtrain.values.types import Message

pytestmark = pytest.mark.slow

Figures = dict[str, Any]


class Moody(Loop):
    """Does one of several things by its seed: retries blindly, looks first, gives up before or after the work, orders the wrong cake."""

    async def run(self, briefing: Briefing, step: StepFunction) -> Message:
        mood = Random(briefing.seed).choice(["blind", "careful", "shy", "sorry", "sorry", "greedy", "careful"])
        found = await step("cakes.get", {"name": str(briefing.stated["cake"])})
        while found.is_error:
            if mood == "shy":
                return Message("CANNOT: it does not answer", abstain=True)
            found = await step("cakes.get", {"name": str(briefing.stated["cake"])})
        cake = (found.content or {})["id"]
        order = {"cake_id": "K001" if mood == "greedy" else cake, "amount": 2}
        placed = await step("orders.place", order)
        if placed.is_error and mood == "careful":
            listed = await step("orders.list", {"cake_id": cake})
            if any(row["placed_at"] > "2031-03-03T09" for row in (listed.content or {}).get("orders", [])):
                return Message("ANSWER: done", answer="done")
        if placed.is_error and mood != "sorry":
            await step("orders.place", order)
        if mood == "sorry":
            return Message("CANNOT: it seems that it failed", abstain=True)
        return Message("ANSWER: done", answer="done")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Drills of the bakery: three attempts at each case, by three agents."""
    folder = tmp_path_factory.mktemp("twice")
    file = write_bakery(folder)
    packs = [str(folder / "perturbations" / f"{name}.yaml") for name in ("rough", "slow")]
    plan = plan_drill(load_scenarios(str(file)), packs=packs, cases=8)
    found: dict[str, Path] = {}
    for agent in ("test_drill_twice:Moody", "drills:Blind", "naive"):
        found[agent] = folder / agent.rpartition(":")[2]
        drill(plan, [RunOptions(agent, {}, 0, None, 3)], found[agent])
    return found


def differences(mine: Figures, theirs: Figures, place: str = "") -> Iterator[str]:
    """Where two reckonings differ by more than the six decimals that are written."""
    for name, expected in theirs.items():
        here, found = f"{place}{name}", mine.get(name)
        if isinstance(expected, dict) and isinstance(found, dict):
            if expected.keys() - found.keys() or ("pass" in name and found.keys() - expected.keys()):
                yield f"{here}: {sorted(found)}, not {sorted(expected)}"
            yield from differences(found, expected, f"{here}.")
        elif isinstance(expected, float) and isinstance(found, float | int):
            if abs(found - expected) > 2e-6:
                yield f"{here}: {found}, not {expected}"
        elif found != expected:
            yield f"{here}: {found}, not {expected}"


def flat(facts: Figures) -> Figures:
    """An arm of drill.json under the names of the second reckoning."""
    versus = facts["versus_clean"]
    extra = {name: facts[name] and facts[name]["mean"] for name in ("extra_calls", "extra_tokens")}
    return {
        **facts, **extra,
        "difference": versus and versus["difference"],
        "p": versus and {key: versus[key] for key in ("worse", "better", "p")},
    }  # fmt: skip


def compared(run: Path) -> list[str]:
    """All differences between drill.json, made anew from a run folder, and the second reckoning."""
    (facts,) = json.loads(json.dumps(report_on(run).facts()))["runs"]
    theirs = measured(run)
    mine = {arm["arm"]: flat(arm) for arm in facts["arms"]} | {"perturbed": flat(facts["perturbed"])}
    assert mine.keys() == theirs.keys()
    return [line for arm in theirs for line in differences(mine[arm], theirs[arm], f"{arm}: ")]


def spoilt(run: Path, folder: Path, seed: int) -> Path:
    """A copy of a run folder whose lines end in every way that lines can: rewards, stops, usage, attacks and impossible tasks at random."""
    random = Random(seed)
    folder.mkdir()
    (folder / "run.json").write_bytes((run / "run.json").read_bytes())
    lines: list[str] = []
    for part in sorted(run.glob("trajectories-*.jsonl")):
        for row in map(json.loads, part.read_text().splitlines()):
            kind = random.random()
            if kind < 0.7:
                row["reward"] = random.choice([None, 0.0, 0.5, 1.0, 1.0])
                row["stop"]["reason"] = random.choice(["answered", "answered", "abstained", "max_turns", "budget"])
                row["impossible"] = random.random() < 0.1
                row["solvability"] = random.choice(["solvable", "solvable", "unproved", "unsolvable"])
                row["usage"] = {"prompt_tokens": random.randrange(900), "completion_tokens": 7, "cost": random.random()}
            if kind < 0.4:
                detail = {"landed": random.random() < 0.7, "reached": random.random() < 0.5}
                detail["reached"] = detail["reached"] and detail["landed"]
                row["rewards"].append(
                    {"grader": "attack", "value": 1.0, "weight": 0.0, "gate": False, "detail": detail, "error": None}
                )
            if random.random() < 0.93:
                lines.append(json.dumps(row) + "\n")
    (folder / "trajectories-000.jsonl").write_text("".join(lines))
    return folder


@pytest.mark.parametrize("agent", ["test_drill_twice:Moody", "drills:Blind", "naive"])
def test_every_measure_is_found_a_second_time_in_the_lines_alone(agent: str, played: dict[str, Path]) -> None:
    assert compared(played[agent]) == []
    figures = measured(played[agent])
    assert figures["perturbed"]["episodes"] >= 50 and figures["perturbed"]["fired"]["part"] > 30
    if agent == "drills:Blind":
        assert figures["perturbed"]["identical"] == 2 * figures["perturbed"]["episodes"] and figures["clean"][
            "pass@k"
        ].keys() == {"1"}
    if agent.endswith("Moody"):
        for measure in ("false_failure", "false_success", "duplicate_writes", "needless_abstention"):
            assert figures["perturbed"][measure]["part"], f"nothing to be told of {measure}"
        assert figures["perturbed"]["recovery"]["whole"] < figures["perturbed"]["fired"]["part"]


@pytest.mark.parametrize("seed", range(6))
def test_every_measure_is_found_a_second_time_however_episodes_end(
    seed: int, played: dict[str, Path], tmp_path: Path
) -> None:
    run = spoilt(played["test_drill_twice:Moody"], tmp_path / "spoilt", seed)
    assert compared(run) == []
    figures = measured(run)["perturbed"]
    assert all(figures[name]["part"] for name in ("runaway", "attack_success", "honest_abstention", "false_success"))
    assert figures["extra_tokens"] and figures["cost"]


# The second reckoning tells a wrong first one.


def _rows_alone(clusters: Any) -> tuple[float | None, float | None]:
    return _intervals([(int(row < part), 1) for part, whole in clusters for row in range(whole)])


_intervals, _distinct, _bootstrap = measures.share_interval, measures.distinct, measures.bootstrap


def _narrow(clusters: Any) -> Estimate | None:
    return _bootstrap(clusters, name="narrow")


@pytest.mark.parametrize(
    ("name", "wrong", "shown"),
    [
        ("share_interval", _rows_alone, "success.low"),
        ("distinct", list, "episodes"),
        ("difference", _narrow, "difference.low"),
        ("pass_at", lambda k, tried, passed: 1 - (1 - passed / tried) ** k, "pass@k"),
        ("pass_all", lambda k, tried, passed: (passed / tried) ** k, "pass^k"),
        ("mcnemar", lambda worse, better: 1.0, "p.p"),
    ],
)  # fmt: skip
def test_a_wrong_measure_is_told(
    name: str, wrong: Any, shown: str, played: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measures, name, wrong)
    agent = "drills:Blind" if name in ("distinct", "mcnemar", "difference") else "test_drill_twice:Moody"
    assert any(shown in line for line in compared(played[agent])), compared(played[agent])
