"""Commands that print nothing: their reply is an empty text, for an agent in this process as over MCP."""

from pathlib import Path

import pytest

from simtrain import load_scenario, run
from simtrain.contracts.agent import Briefing, Player, Policy
from simtrain.contracts.journal import Journal
from simtrain.runs.run_folder import read_run
from simtrain.values.types import Action, Message

WORLD = "kind: machine\nname: quiet\nhostname: quiet\nuser: ann\nusers: {ann: {}}\n"
SCENARIO = """
name: quiet
description: Make a file.
world: quiet
domain: terminal
prompt: Make the empty file /home/ann/made.
cases: [{n: 1}]
tools: ["bash"]
reference:
  steps: [{call: bash, with: {command: touch made}}]
  answer: done
wrong:
  steps: [{call: bash, with: {command: touch mode}}]
  answer: done
rubric:
  - use: final_state
    with: {changes: {files: "select '/home/ann/made' as path, '' as content"}}
"""
LINES = ("true", "cd /tmp; cd", "touch made", "false", "echo seen >&2", "cat /dev/null")
TEXTS = ["", "", "", "[exit code 1]", "seen", ""]


class Quiet(Policy):
    """Types LINES."""

    def player(self, briefing: Briefing) -> Player:
        return _Typing()


class _Typing:
    def __init__(self) -> None:
        self._left = iter(enumerate(LINES))

    async def think(self, journal: Journal) -> Message:
        number, line = next(self._left, (0, None))
        if line is None:
            return Message("ANSWER: done", answer="done")
        return Message(calls=(Action(f"call_{number}", "bash", {"command": line}),))


@pytest.mark.parametrize("via", [None, "mcp_in_process", "mcp"])
def test_a_command_that_prints_nothing_is_answered_with_an_empty_text(
    via: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder, text in (("worlds", WORLD), ("scenarios", SCENARIO)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "quiet.yaml").write_text(text)
    scenario = load_scenario(tmp_path / "scenarios/quiet.yaml")
    run([scenario], Quiet(), out=tmp_path / "run", via=via)
    (played,) = read_run(tmp_path / "run")
    assert [step.observation.text for step in played.steps] == TEXTS
    assert played.steps[0].observation.structured == {
        "stdout": "", "stderr": "", "exit_code": 0, "prompt": "ann@quiet:~$ ",
    }  # fmt: skip
