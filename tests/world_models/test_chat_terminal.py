"""A chat model as a whole terminal: command lines and keystrokes over the wire, without an engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from simtrain import load_scenario, open_episode
from simtrain.testing import FakeOpenAI, Say
from simtrain.values.errors import SimulatorFault
from simtrain.values.types import Action, JsonObject, Observation
from simtrain.world_models.domains.predictions import HEADER

WORLD = """
kind: machine
name: place
hostname: oak
user: ann
users: {ann: {}}
files: [{path: /home/ann/notes.txt, content: "milk\\n", owner: ann}]
"""
SCENARIO = """
name: asked
world: {{use: {world}, with: {{actions: {actions}}}}}
domain: terminal
prompt: Look around.
tools: ["{actions}"]
world_models: [{{use: chat, with: {{model: fake, base_url: "{url}", backoff: 0}}}}]
rubric: [{{use: answer, with: {{value: done}}}}]
"""


async def asked(server: FakeOpenAI, folder: Path, actions: str, *calls: JsonObject) -> list[Observation]:
    (folder / "place.yaml").write_text(WORLD)
    path = folder / "asked.yaml"
    path.write_text(SCENARIO.format(world=folder / "place.yaml", url=server.url, actions=actions))
    async with open_episode(load_scenario(str(path))) as environment:
        return [await environment.step(Action(f"c{number}", actions, call)) for number, call in enumerate(calls)]


async def test_command_lines_are_predicted_from_the_state_of_the_machine(tmp_path: Path) -> None:
    replies = [Say(f"{HEADER}\nmilk"), Say(f"<think>none</think>{HEADER}\nls: cannot access 'x'\n[exit code 2]")]
    async with FakeOpenAI(replies) as server:
        found = await asked(server, tmp_path, "bash", {"command": "cat notes.txt"}, {"command": "ls x"})
    assert [one.text for one in found] == ["milk", "ls: cannot access 'x'\n[exit code 2]"]
    assert found[1].structured == {"stdout": "ls: cannot access 'x'", "stderr": "", "exit_code": 2}
    messages = server.chats[1]["messages"]
    assert "ann uid=1000" in messages[0]["content"] and "--- /home/ann/notes.txt\nmilk" in messages[0]["content"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]
    assert messages[1]["content"] == "### Turn 1\n\n**Action:**\n```bash\ncat notes.txt\n```"


async def test_screens_are_predicted_from_keystrokes_and_one_that_is_none_is_asked_for_again(tmp_path: Path) -> None:
    screen = "ann@oak:~$ cat notes.txt\nmilk\nann@oak:~$"
    tall = "\n".join(map(str, range(50)))
    async with FakeOpenAI([Say(f"{HEADER}\n{tall}"), Say(f"{HEADER}\n{screen}")]) as server:
        entry: JsonObject = {"keystrokes": "cat notes.txt\n", "duration": 1}
        found = await asked(server, tmp_path, "keystrokes", {"commands": [entry]})
    assert found[0].structured == {"screen": screen, "cursor": [2, 10], "running": False}
    first, second = (chat["messages"] for chat in server.chats)
    assert '[{"keystrokes":"cat notes.txt\\n","duration":1}]' in first[1]["content"]
    assert "50 lines" in second[-1]["content"]


async def test_predictions_that_are_no_screen_twice_are_a_fault_of_the_simulator(tmp_path: Path) -> None:
    async with FakeOpenAI([Say("")] * 2) as server:
        with pytest.raises(SimulatorFault, match="it is empty"):
            await asked(server, tmp_path, "keystrokes", {"commands": [{"keystrokes": "ls\n"}]})
