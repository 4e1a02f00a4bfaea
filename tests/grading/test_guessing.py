"""A guess earns nothing: not in any shipped family, and not even where the gold itself is handed in.

The guesser is told the oracle's answer, and makes no call, or none that changes anything. It shares nothing with the graders: it
reads the oracle's calls and its last message, and says that message again.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from families import one_of_each_suite

from simtrain import load_scenario, rollout
from simtrain.contracts.agent import Briefing, Player, Policy
from simtrain.contracts.journal import Journal
from simtrain.contracts.scenario import Episode, Scenario
from simtrain.contracts.trajectory import Trajectory
from simtrain.scenarios.find import shipped_scenarios
from simtrain.scenarios.load import paradigm_of
from simtrain.values.types import Action, Message

pytestmark = pytest.mark.slow

# Families with Python run it in a sandbox, which takes long: tests/worlds/machine/test_python_family.
ALL = {name: path for name, path in shipped_scenarios().items() if not name.startswith(("terminal_python/", "swe/"))}
SERVICE = sorted(name for name in ALL if not name.startswith("fiction/"))
SEARCH = sorted(name for name in ALL if name.startswith("fiction/"))
CASES = 2


class Repeating(Policy):
    """Makes some calls, whatever comes of them, and says something at the end."""

    calls: tuple[Action, ...] = ()
    last: str

    def player(self, briefing: Briefing) -> Player:
        return _Player(self.calls, self.last)


class _Player:
    def __init__(self, calls: tuple[Action, ...], last: str) -> None:
        self.calls, self.last = calls, last

    async def think(self, journal: Journal) -> Message:
        turn = len(journal.turns)
        if turn < len(self.calls):
            return Message(calls=(self.calls[turn],))
        return Message(self.last, answer=self.last)


def episodes(scenario: Scenario) -> list[Episode]:
    found = list(paradigm_of(scenario).episodes(scenario, seed=0, attempts=1))
    return found[:: max(1, len(found) // CASES)][:CASES]


def reads(trajectory: Trajectory) -> Iterator[Action]:
    writing = {tool.name for tool in trajectory.tools if tool.writes}
    return (step.action for step in trajectory.steps if step.action.tool not in writing)


def small(name: str, folder: Path) -> Scenario:
    """A family over a search world, with few pages and questions."""
    written = yaml.safe_load(ALL[name].read_text())
    written["cases"]["questions"]["count"] = CASES
    written["vary"] = {"rows": [{"pages": 300}]}
    file = folder / ALL[name].name
    file.write_text(yaml.safe_dump(written))
    return load_scenario(file)


def test_the_families_are_those_that_ship() -> None:
    assert len(ALL) == len(SERVICE) + len(SEARCH) >= 63


@pytest.mark.parametrize("name", one_of_each_suite(SERVICE))
async def test_the_right_answer_without_the_work_earns_nothing(name: str) -> None:
    for episode in episodes(load_scenario(name)):
        oracle = await rollout(episode, "oracle")
        assert oracle.reward == 1 and oracle.answer is not None
        if oracle.stop.reason == "abstained":
            # What cannot be done at all is not answered by claiming that it is.
            assert (await rollout(episode, Repeating(last="Done."))).reward == 0
            continue
        assert (await rollout(episode, Repeating(last=oracle.answer))).reward == 0
        looked = tuple(reads(oracle))
        if oracle.changes:
            found = await rollout(episode, Repeating(calls=looked, last=oracle.answer))
            assert (found.reward, len(found.steps)) == (0, len(looked))
            assert found.stop.blame == "agent"


@pytest.mark.parametrize("name", one_of_each_suite(SERVICE))
async def test_what_the_prompt_says_is_no_answer(name: str) -> None:
    for episode in episodes(load_scenario(name)):
        oracle = await rollout(episode, "oracle")
        for value in {str(value) for value in episode.case.values() if str(value) in oracle.prompt}:
            first = tuple(reads(oracle))[:1]
            assert (await rollout(episode, Repeating(calls=first, last=value))).reward == 0


@pytest.mark.parametrize("name", SEARCH)
async def test_a_table_that_was_not_searched_for_earns_nothing(name: str, tmp_path: Path) -> None:
    for episode in episodes(small(name, tmp_path)):
        oracle = await rollout(episode, "oracle")
        assert oracle.reward == 1 and oracle.answer is not None and oracle.steps
        assert (await rollout(episode, Repeating(last=oracle.answer))).reward == 0
