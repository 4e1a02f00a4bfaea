"""Python that a chat model answers for: files and edits are the engine's, no sandbox is opened, and nothing is rewarded."""

from __future__ import annotations

from pathlib import Path

import pytest

from simtrain import load_scenario, open_episode, rollout
from simtrain.contracts.scenario import Scenario
from simtrain.testing import FakeOpenAI, Say
from simtrain.values.errors import InputError
from simtrain.values.types import Action
from simtrain.world_models.domains.predictions import HEADER
from simtrain.worlds.machine import python_sandbox

WORLD = """
kind: machine
name: shed
clock: {start: 2031-03-03T09:00:00Z, per_step: 5s}
hostname: oak
user: ann
users: {ann: {}}
directory: /home/ann/sums
packages: {apt: {python3: 3.14.0-1}}
files:
  - {path: /home/ann/sums/sums.py, content: "def total(prices):\\n    return sum(prices) + 1\\n", owner: ann}
  - {path: /home/ann/sums/test_sums.py, content: "import sums\\n\\n\\ndef test_total():\\n    assert sums.total([1, 2]) == 3\\n"}
"""
SCENARIO = """
name: made_up
world: {{use: {world}, with: {{actions: coding, execution: chat}}}}
domain: swe
prompt: The tests fail. Repair it, and tell me whether they pass.
world_models:
  - {{use: grounded, with: {{model: fake, base_url: "{url}", backoff: 0, retries: 0, programs: {programs}}}}}
reference:
  steps:
    - {{call: bash, with: {{command: "python3 -m pytest -q"}}}}
    - {{call: read, with: {{file_path: /home/ann/sums/sums.py}}}}
    - {{call: edit, with: {{file_path: /home/ann/sums/sums.py, old_string: " + 1", new_string: ""}}}}
    - {{call: bash, with: {{command: "pytest -q | tail -n 1"}}, as: passed}}
  answer: "{{{{ passed.stdout | trim }}}}"
rubric: [{{use: tests, with: {{directory: /home/ann/sums}}}}, {{use: answer, with: {{value: 1 passed in 0.01s}}}}]
"""


@pytest.fixture
def no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """No sandbox works here, and to open one is an error."""

    def refuse(name: str) -> object:
        raise AssertionError(f"the sandbox {name} was asked for")

    monkeypatch.setattr(python_sandbox, "backend_of", refuse)


def _scenario(
    folder: Path, url: str, programs: str = "[python3, pytest]", *, without: str = "", rubric: str = ""
) -> Scenario:
    (folder / "shed.yaml").write_text(WORLD)
    path = folder / "made_up.yaml"
    text = SCENARIO.format(world=folder / "shed.yaml", url=url, programs=programs).replace(without, "")
    path.write_text(text.partition("rubric:")[0] + f"rubric: [{rubric}]\n" if rubric else text)
    return load_scenario(str(path))


@pytest.mark.usefixtures("no_sandbox")
async def test_a_model_speaks_for_python_over_files_of_the_engine_and_nothing_is_rewarded(tmp_path: Path) -> None:
    said = [Say(f"{HEADER}\n1 failed in 0.02s\n[exit code 1]"), Say(f"{HEADER}\n.   [100%]\n1 passed in 0.01s")]
    with FakeOpenAI(said) as server:
        played = await rollout(_scenario(tmp_path, server.url), "oracle")
        asked = [str(body["messages"]) for body in server.chats]
    first, *_, last = played.steps
    assert (first.observation.content or {})["exit_code"] == 1 and "1 failed in 0.02s" in first.observation.text
    # The pipe is the engine's, and the answer what came out of it.
    assert last.observation.text == "1 passed in 0.01s" and played.answer == "1 passed in 0.01s"
    assert played.stop.reason == "answered" and played.reward is None
    (reward,) = played.rewards
    assert (reward.grader, reward.value) == ("execution", None)
    assert reward.error == "no reward: a model wrote what python3 and pytest printed, and nothing was run"
    # It is shown the code as it is at the moment of the call.
    assert "return sum(prices) + 1" in asked[0] and "def test_total" in asked[0]
    assert asked[-1].rfind("return sum(prices)") > asked[-1].rfind("sum(prices) + 1")


@pytest.mark.usefixtures("no_sandbox")
async def test_python_is_left_to_a_model_that_speaks_for_it(tmp_path: Path) -> None:
    with pytest.raises(InputError) as told:
        _scenario(tmp_path, "http://localhost:1", "[python3]")
    assert "no world model speaks for 'pytest'" in str(told.value)
    assert "programs: [python3, pytest]" in str(told.value)


@pytest.mark.usefixtures("no_sandbox")
@pytest.mark.parametrize(
    ("rubric", "told"),
    [
        (
            "{use: tests, with: {directory: /home/nobody}}",
            "rubric[0].with.directory: there is no file below /home/nobody",
        ),
        (
            "{use: tests, with: {directory: /home/ann/sums, hidden: select 1}}",
            "rubric[0].with.hidden: hidden tests need",
        ),
        ("{use: final_state, with: {expect: [select nothing]}}", "rubric[0].with.expect[0]: the SQL fails"),
    ],
)
def test_the_rubric_is_checked_all_the_same(rubric: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        _scenario(tmp_path, "http://localhost:1", rubric=rubric)
    assert told in str(caught.value)


async def test_without_it_the_sandbox_runs_python_or_the_scenario_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(name: str, *, what: str = "") -> None:
        raise InputError(f"no {name} here", remedy="install it")

    monkeypatch.setattr("simtrain.worlds.machine.source.require_sandbox", refuse)
    with pytest.raises(InputError, match="no wasm here"):
        _scenario(tmp_path, "http://localhost:1", without=", execution: chat")


async def test_files_are_changed_by_the_engine_alone(tmp_path: Path) -> None:
    with FakeOpenAI([Say(f"{HEADER}\nwritten")]) as server:
        async with open_episode(_scenario(tmp_path, server.url)) as environment:
            line = 'python3 -c \'open("x", "w")\'; ls; echo done > y'
            reply = await environment.step(Action("1", "bash", {"command": line}))
            assert reply.text.splitlines() == ["written", "sums.py", "test_sums.py"]
            files = environment.finished().final.query("select path from files where path glob '/home/ann/sums/?'")
    assert files == [{"path": "/home/ann/sums/y"}]
