"""A chat model speaks for programs that a machine lacks; files, pipes and processes stay the engine's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from simtrain import load_scenario, open_episode
from simtrain.testing import FakeOpenAI, Reply, Say
from simtrain.values.errors import SimulatorFault
from simtrain.values.types import Action, JsonObject, Observation
from simtrain.world_models.domains.predictions import HEADER

WORLD = """
kind: machine
name: cluster
clock: {start: 2031-03-03T09:00:00Z, per_step: 5s}
hostname: oak
user: ann
users: {ann: {}}
files: [{path: /srv/web.yaml, content: "kind: Deployment\\nname: web\\n"}]
"""
SCENARIO = """
name: asked
world: {{use: {world}, with: {{actions: {actions}}}}}
domain: terminal
prompt: Look at the cluster.
tools: ["{tool}"]
world_models:
  - {{use: grounded, with: {{model: fake, base_url: "{url}", backoff: 0, retries: 0, programs: [kubectl, helm]}}}}
rubric: [{{use: answer, with: {{value: done}}}}]
"""
PODS = "NAME   READY\nweb-1  1/1\nweb-2  0/1"


async def asked(
    server: FakeOpenAI, folder: Path, calls: Sequence[JsonObject], *, actions: str = "bash"
) -> tuple[list[Observation], list[JsonObject]]:
    """Return what was answered, and the rows that differ at the end."""
    (folder / "cluster.yaml").write_text(WORLD)
    path = folder / "asked.yaml"
    tool = "keystrokes" if actions == "keystrokes" else "bash"
    path.write_text(SCENARIO.format(world=folder / "cluster.yaml", url=server.url, tool=tool, actions=actions))
    async with open_episode(load_scenario(str(path))) as environment:
        found = [await environment.step(Action(f"c{number}", tool, call)) for number, call in enumerate(calls)]
        files = environment.finished().final.query("select path, content from files where path like '/home/ann/%.txt'")
    return found, files


def says(*texts: str) -> list[Reply]:
    return [Say(f"{HEADER}\n{text}") for text in texts]


def command(line: str) -> JsonObject:
    return {"command": line}


async def test_what_the_model_says_goes_through_the_pipes_and_into_the_files_of_the_machine(tmp_path: Path) -> None:
    lines = [
        "kubectl get pods | grep -c web",
        "n=$(kubectl get pods | awk 'NR > 1 {print $1}'); echo $n > pods.txt; cat pods.txt; date +%T",
        "echo plain; cat /srv/web.yaml | head -n 1",
        "kubectl delete pod nosuch || echo failed $?",
    ]
    async with FakeOpenAI(says(PODS, PODS, "Error: pods not found\n[exit code 3]")) as server:
        found, files = await asked(server, tmp_path, [command(line) for line in lines])
    assert [one.text for one in found] == [
        "2",
        "web-1 web-2\n09:00:10",
        "plain\nkind: Deployment",
        "Error: pods not found\nfailed 3",
    ]
    assert files == [{"path": "/home/ann/pods.txt", "content": "web-1 web-2\n"}]
    assert [one.provenance and one.provenance.source for one in found] == ["grounded", "grounded", None, "grounded"]
    assert len(server.chats) == 3


async def test_the_model_reads_the_state_of_the_machine_and_what_a_program_is_given(tmp_path: Path) -> None:
    line = "cd /srv; echo replicas: 3 | kubectl apply -f web.yaml -f -"
    async with FakeOpenAI(says("deployment/web configured")) as server:
        await asked(server, tmp_path, [command(line)])
    system, user = (message["content"] for message in server.chats[0]["messages"])
    assert "kubectl, helm" in system and "Machine oak" in system and "/srv/web.yaml" in system
    assert "ann@oak:/srv\n```bash\nkubectl apply -f web.yaml -f -\n```" in user
    assert "--- standard input\nreplicas: 3" in user and "--- /srv/web.yaml\nkind: Deployment\nname: web" in user


async def test_a_line_that_runs_several_programs_changes_the_machine_once(tmp_path: Path) -> None:
    line = (
        "echo line >> log.txt; kubectl version; echo line >> log.txt; helm version; date +%T; sleep 60; kubectl version"
    )
    async with FakeOpenAI(says("v1", "v2", "v3")) as server:
        found, files = await asked(server, tmp_path, [command(line), command("date +%T")])
    assert [one.text for one in found] == ["v1\nv2\n09:00:05\nv3", "09:01:10"]
    assert files == [{"path": "/home/ann/log.txt", "content": "line\nline\n"}]
    assert [message["content"] for message in server.chats[2]["messages"]][2::2] == [f"{HEADER}\nv1", f"{HEADER}\nv2"]


async def test_programs_that_nobody_named_are_not_found(tmp_path: Path) -> None:
    async with FakeOpenAI([]) as server:
        found, _ = await asked(server, tmp_path, [command("docker ps")])
    assert found[0].text == "bash: line 1: docker: command not found\n[exit code 127]"
    assert not server.chats


async def test_typed_keys_are_answered_alike_and_asked_for_once(tmp_path: Path) -> None:
    calls: list[JsonObject] = [
        {"commands": [{"keystrokes": "kubectl get pods | wc -l; sleep 3; kubectl version\n", "duration": 1}]},
        {"commands": [{"keystrokes": "", "duration": 5}]},
    ]
    async with FakeOpenAI(says(PODS, "v1")) as server:
        found, _ = await asked(server, tmp_path, calls, actions="keystrokes")
    assert found[0].text.endswith("kubectl version\n3") and found[1].text.split("\n")[-2:] == ["v1", "ann@oak:~$"]
    assert len(server.chats) == 2


async def test_a_model_that_breaks_the_form_is_a_fault_of_the_simulator_and_changes_nothing(tmp_path: Path) -> None:
    async with FakeOpenAI([Say("<|im_start|>nonsense")]) as server:
        with pytest.raises(SimulatorFault, match="cannot be used"):
            await asked(server, tmp_path, [command("echo x > x.txt; kubectl version")])
