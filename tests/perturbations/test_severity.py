"""Severity in drills: what fires by chance fires more often, at every step more than before, and never more than always."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from bakery import scenario

from simtrain.agents.select import build_agent
from simtrain.contracts.perturbation import Ramp
from simtrain.runs.rollout import rollout
from simtrain.scenarios.arms import armed, bundles
from simtrain.scenarios.load import paradigm_of
from simtrain.values.arm import Arm


def test_what_fires_by_chance_fires_the_more_often_the_harder_it_hits(tmp_path: Path) -> None:
    family = scenario(tmp_path)
    chances = [
        [item.when.probability for item in bundles(family, ("flaky_network",), severity)[0].armed.values()]
        for severity in (0, 0.25, 0.5, 1, None)
    ]
    assert chances == [
        [0, 0, 0, 0],
        [0.15, 0.15, 0.06, 0.075],
        usual := [0.3, 0.3, 0.12, 0.15],
        [0.6, 0.6, 0.24, 0.3],
        usual,
    ]


def test_severity_makes_no_chance_surer_than_sure_and_leaves_the_rest_alone(tmp_path: Path) -> None:
    (tmp_path / "often.yaml").write_text(
        "name: often\nseverity: 0.2\nperturbations:\n"
        "  - {use: latency, when: {probability: 0.7}}\n"
        "  - {use: latency, as: ramped, when: {probability: {start: 0.1, end: 0.5}}}\n"
        "  - {use: latency, as: counted, when: {nth: 2}}\n"
        "  - {use: latency, as: own, with: {severity: 0.3}, when: {probability: 0.4}}\n"
    )
    (found,) = bundles(scenario(tmp_path), (str(tmp_path / "often.yaml"),), 1)
    chances = [item.when.probability for item in found.armed.values()]
    assert chances == [1, Ramp(start=0.2, end=1), None, 0.4]


async def test_what_fires_at_one_severity_fires_at_every_higher_one(tmp_path: Path) -> None:
    family = scenario(tmp_path)
    fired: list[set[tuple[str, int]]] = []
    for severity in (0.0, 0.3, 0.6, 1.0):
        arm = Arm("slow", ("flaky_network",), ("latency",), severity)
        met = armed(family, arm)
        episodes = list(paradigm_of(met).episodes(met, seed=5, attempts=1))[:20]
        played = [await rollout(episode, build_agent("oracle"), name="oracle") for episode in episodes]
        fired.append({(one.episode, step.index) for one in played for step in one.steps if step.events})
    assert not fired[0] and all(one < other for one, other in pairwise(fired))
