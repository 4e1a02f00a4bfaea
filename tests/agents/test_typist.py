"""Plans of command lines where the agent types keys, and the call that ends an episode."""

from pathlib import Path

import pytest
import yaml

from simtrain import load_scenario, rollout
from simtrain.agents.typist import read
from simtrain.contracts.agent import Briefing, Player, Policy
from simtrain.contracts.journal import Journal
from simtrain.contracts.scenario import Scenario
from simtrain.contracts.trajectory import Trajectory
from simtrain.scenarios.load import paradigm_of
from simtrain.values.types import Action, JsonObject, Message

ROOT = Path(__file__).parents[2]
CASES = 2


def typed(name: str, folder: Path) -> Path:
    """Write a family that ships as one in which the agent types keys."""
    data = yaml.safe_load((ROOT / "scenarios" / "terminal" / f"{name}.yaml").read_text())
    data |= {"world": {"use": data["world"], "with": {"actions": "keystrokes"}}, "tools": ["keystrokes"]}
    data.pop("twin", None)
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    return path


async def played_by(scenario: Scenario, agent: Policy | str, *, cases: int = CASES) -> list[Trajectory]:
    episodes = list(paradigm_of(scenario).episodes(scenario, seed=0, attempts=1))[:cases]
    return [await rollout(episode, agent=agent) for episode in episodes]


async def solved_by_typing(scenario: Scenario) -> None:
    for agent in ("oracle", "resilient"):
        for played in await played_by(scenario, agent):
            assert played.reward == 1.0, (agent, played.rewards)
            assert {step.action.tool for step in played.steps} == {"keystrokes"}


async def test_a_family_of_the_shell_is_solved_by_typing(tmp_path: Path) -> None:
    await solved_by_typing(load_scenario(typed("block_scanner_no_log", tmp_path)))


@pytest.mark.full
@pytest.mark.parametrize("name", ["private_files", "branch_revenue", "block_scanner", "private_files_frozen"])
async def test_the_other_families_of_the_shell_are_solved_by_typing(name: str, tmp_path: Path) -> None:
    await solved_by_typing(load_scenario(typed(name, tmp_path)))


@pytest.mark.full
async def test_the_private_files_that_ship_are_closed_by_typing() -> None:
    await solved_by_typing(load_scenario("terminal_keys/private_files"))


async def test_a_family_that_ships_is_solved_and_its_wrong_plan_is_not_and_an_empty_list_ends_an_episode() -> None:
    scenario = load_scenario("terminal_keys/old_logs")
    assert [played.reward for played in await played_by(scenario, "oracle", cases=1)] == [1.0]
    assert [played.reward for played in await played_by(scenario, "wrong", cases=1)] == [0.0]
    (played,) = await played_by(scenario, Ending(), cases=1)
    assert played.stop.reason == "answered" and played.answer == "3" and len(played.steps) == 2
    assert played.steps[1].observation.text == played.steps[0].observation.text


def test_a_screen_is_read_as_the_shell_would_have_replied() -> None:
    screen = 'ann@oak:~$ cat a; false\none\ntwo ann@oak:~$ echo "[$?]"\n[1]\nann@oak:~$'
    assert read(screen, ["cat a; false"]).structured == {"stdout": "one\ntwo ", "stderr": "one\ntwo ", "exit_code": 1}
    wide = "x" * 170
    screen = f'ann@oak:~$ echo {wide[:144]}\n{wide[144:]}\n{wide[:160]}\n{wide[160:]}\nann@oak:~$ echo "[$?]"\n[0]\nann@oak:~$'
    assert read(screen, [f"echo {wide}"]).text == f"{wide}\n"


class Ending(Policy):
    """Types one command, and ends with an empty list."""

    def player(self, briefing: Briefing) -> Player:
        return EndingPlayer()


class EndingPlayer:
    async def think(self, journal: Journal) -> Message:
        commands: list[JsonObject] = [] if journal.turns else [{"keystrokes": "pwd\n", "duration": 1}]
        return Message(
            "ANSWER: 3", calls=(Action(f"c{len(journal.turns)}", "keystrokes", {"commands": commands}),), answer="3"
        )
