"""A real bash in a real container answers command lines and keystrokes, and nothing of it stays there when the episode ends."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from containers import docker, need_docker, processes, running_box

from simtrain.runs.trajectory_files import read_part
from simtrain.values.types import JsonObject, Observation

pytestmark = pytest.mark.full

WORLD = "kind: machine\nname: place\nhostname: oak\nuser: ann\nusers: {ann: {}}\n"
SCENARIO = """
name: asked
world: {{use: ./place.yaml, with: {{actions: {actions}}}}}
domain: terminal
prompt: Look around.
tools: ["{tool}"]
world_models: [{model}]
reference: {{steps: {steps}, answer: done}}
rubric: [{{use: answer, with: {{value: done}}}}]
"""


@pytest.fixture(scope="module")
def box() -> Iterator[str]:
    need_docker()
    with running_box() as name:
        yield name


def played(folder: Path, tool: str, model: JsonObject, calls: Sequence[JsonObject]) -> list[Observation]:
    """What `simtrain run` recorded of an episode in which a plan makes these calls: the observations."""
    (folder / "place.yaml").write_text(WORLD)
    steps = json.dumps([{"call": tool, "with": call} for call in calls])
    scenario = folder / "asked.yaml"
    actions = "bash" if tool == "bash" else tool
    scenario.write_text(SCENARIO.format(actions=actions, tool=tool, model=json.dumps(model), steps=steps))
    out = folder / f"run-{model['use']}"
    ran = run(scenario, out)
    assert ran.returncode == 0, ran.stderr
    (trajectory,) = read_part(out / "trajectories-000.jsonl")
    return [step.observation for step in trajectory.steps]


def run(scenario: Path, out: Path) -> subprocess.CompletedProcess[str]:
    line = [
        sys.executable,
        "-m",
        "simtrain",
        "run",
        str(scenario),
        "--agent",
        "oracle",
        "--allow-live",
        "--out",
        str(out),
    ]
    return subprocess.run(line, capture_output=True, text=True, timeout=120)


def test_command_lines_go_to_a_bash_in_the_container_and_are_replayed_without_it(box: str, tmp_path: Path) -> None:
    calls: list[JsonObject] = [
        {"command": "cd /tmp; x=5; echo hi > a.txt; cat /etc/hostname"},
        {"command": "pwd; echo $x; (exit 3)"},
        {"command": "sleep 1000 & exit 4"},
        {"command": 'echo "again $x"'},
        {"command": "echo before; sleep 1000", "timeout": 1},
        {"command": "echo on; sleep 1000 &"},
    ]
    live = {"use": "live", "with": {"shell": ["docker", "exec", "-i", box, "bash"], "recording": "box.jsonl"}}
    found = played(tmp_path, "bash", live, calls)
    assert [one.text for one in found] == [
        docker("exec", box, "hostname").strip(), "/tmp\n5\n[exit code 3]", "[exit code 4]", "again ", "before\n[stopped after 1 s]", "on",
    ]  # fmt: skip
    assert docker("exec", box, "cat", "/tmp/a.txt") == "hi\n"
    assert processes(box) == ["sleep 600"]
    replay = {"use": "replay", "with": {"recording": "box.jsonl"}}
    assert [one.text for one in played(tmp_path, "bash", replay, calls)] == [one.text for one in found]


def test_keystrokes_go_to_a_terminal_in_the_container_and_are_replayed_without_it(box: str, tmp_path: Path) -> None:
    calls: list[JsonObject] = [
        {"commands": [{"keystrokes": "tput cols; tput lines; test -t 0 && echo a terminal\n", "duration": 1}]},
        {"commands": [{"keystrokes": "sleep 1000\n", "duration": 1}]},
        {"commands": [{"keystrokes": "C-c", "duration": 1}, {"keystrokes": "echo $?\n", "duration": 1}]},
        {"commands": [{"keystrokes": "(trap '' HUP INT; sleep 1000) & python3 -q\n", "duration": 2}]},
    ]
    live = {"use": "live", "with": {"shell": ["docker", "exec", "-it", box, "bash"], "recording": "keys.jsonl"}}
    found = played(tmp_path, "keystrokes", live, calls)
    texts = [one.text for one in found]
    assert "\n160\n40\na terminal\n" in texts[0]
    assert "^C" in texts[2] and "\n130\n" in texts[2] and texts[3].rstrip().endswith(">>>")
    assert processes(box) == ["sleep 600"]
    replay = {"use": "replay", "with": {"recording": "keys.jsonl"}}
    again = played(tmp_path, "keystrokes", replay, calls)
    assert [(one.text, one.structured) for one in again] == [(one.text, one.structured) for one in found]


def test_a_client_that_told_no_size_at_the_start_is_told_it_again(box: str, tmp_path: Path) -> None:
    shell = ["sh", "-c", f"stty rows 0 cols 0; exec docker exec -it {box} bash"]
    call: JsonObject = {"commands": [{"keystrokes": "tput cols; tput lines\n", "duration": 1}]}
    (seen,) = played(tmp_path, "keystrokes", {"use": "live", "with": {"shell": shell}}, [call])
    assert "\n160\n40\n" in seen.text


def test_a_container_that_is_not_there_is_said_before_anything_is_played(box: str, tmp_path: Path) -> None:
    (tmp_path / "place.yaml").write_text(WORLD)
    shell = ["docker", "exec", "-i", f"{box}-gone", "bash"]
    model = json.dumps({"use": "live", "with": {"shell": shell}})
    scenario = tmp_path / "asked.yaml"
    scenario.write_text(SCENARIO.format(actions="bash", tool="bash", model=model, steps="[]"))
    ran = run(scenario, tmp_path / "out")
    assert ran.returncode == 2 and f"{box}-gone" in ran.stderr, ran
