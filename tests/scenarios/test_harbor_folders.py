"""Harbor folders as scenarios: who earns what, in which shell, and what is refused with file, line and remedy."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from harbor_folders import GREETING, STEPS, write_harbor

from simtrain import load_scenario, load_scenarios, rollout
from simtrain.contracts.trajectory import Trajectory
from simtrain.validation.prove import prove
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject
from simtrain.worlds.sandbox.bubblewrap import BubblewrapSandbox


@pytest.fixture(autouse=True)
def _no_docker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")


@pytest.fixture(scope="module")
def bubblewrap() -> None:
    probe = BubblewrapSandbox().probe()
    if not probe.ok:
        pytest.skip(f"the sandbox bubblewrap does not work here: {probe.found}")


async def plays(folder: Path, agent: str) -> Trajectory:
    return await rollout(load_scenario(folder), agent)


async def test_the_solution_earns_1_and_an_idle_agent_0(tmp_path: Path) -> None:
    folder = write_harbor(tmp_path / "greeting", GREETING)
    solved, idle = await plays(folder, "oracle"), await plays(folder, "nop")
    assert (solved.reward, idle.reward) == (1.0, 0.0)
    assert solved.prompt == "Write the word {{ hello }} into /app/greeting.txt."
    assert "words.txt" not in solved.steps[0].observation.text
    # What the tests bring is not there while the agent works.
    assert not [change for change in solved.changes["files"] if "/tests" in str(change)]


async def test_a_folder_is_proved_and_a_reward_that_the_agent_writes_counts_nothing(tmp_path: Path) -> None:
    proof = await prove(load_scenario(write_harbor(tmp_path / "greeting", GREETING)))
    assert (proof.problems, proof.calls) == ([], (2, 2))
    gullible = {**GREETING, "tests/test.sh": "[ -e /logs/verifier/reward.txt ] || echo 1 > /logs/verifier/reward.txt\n"}
    proof = await prove(load_scenario(write_harbor(tmp_path / "gullible", gullible)))
    assert [problem for problem in proof.problems if "the agent nop, which calls nothing, earns 1.0" in problem]


async def test_each_step_is_judged_by_what_was_there_when_it_was_done(tmp_path: Path) -> None:
    folder = write_harbor(tmp_path / "steps", STEPS)
    solved, idle = await plays(folder, "oracle"), await plays(folder, "nop")
    assert solved.rewards[0].detail["steps"] == {"add": {"reward": 1.0}, "sort": {"reward": 1.0, "lines": 2.0}}
    assert [step.action.tool for step in solved.steps] == ["bash", "bash", "next_step", "bash", "bash"]
    assert "sort the lines" in solved.steps[2].observation.text
    # Below its least reward a step ends the task, as in Harbor.
    assert (solved.reward, idle.reward, idle.rewards[0].detail["steps"]) == (1.0, 0.0, {"add": {"reward": 0.0}})
    last = {**STEPS, "task.toml": STEPS["task.toml"].replace('"mean"', '"final"').replace("min_reward = 0.5\n", "")}
    unreached = await plays(write_harbor(tmp_path / "final", last), "nop")
    # The step that was never begun is judged too: what comes with it is there, and nothing was done.
    assert unreached.reward == 0.25


@pytest.mark.full
async def test_programs_of_the_host_run_in_bubblewrap_and_binary_files_come_through(
    tmp_path: Path, bubblewrap: None
) -> None:
    files: dict[str, str | bytes | None] = {
        "task.toml": 'version = "1.0"\n[verifier.env]\nLEAST = "${LEAST:-3}"\n',
        "instruction.md": "<!-- canary 123 -->\n\nWrite how many bytes /app/logo.bin has into /app/size.txt.\n",
        "environment/Dockerfile": "FROM python:3.12-slim\nWORKDIR /app\nCOPY *.bin ./\n",
        "environment/logo.bin": b"\x00\xff\x00{{",
        "tests/test.sh": (
            "cd /tests\nscore=0\npython3 -m pytest -q -p no:cacheprovider . && score=1\n"
            "echo $score > /logs/verifier/reward.txt\n"
        ),
        "tests/test_size.py": (
            "import os\nfrom pathlib import Path\n\n\ndef test_size() -> None:\n"
            "    assert int(Path('/app/size.txt').read_text()) == 5 > int(os.environ['LEAST'])\n"
        ),
        "solution/solve.sh": 'python3 -c \'print(len(open("logo.bin", "rb").read()))\' > size.txt\n',
    }
    folder = write_harbor(tmp_path / "size", files)
    solved, idle = await plays(folder, "oracle"), await plays(folder, "nop")
    assert (solved.reward, idle.reward) == (1.0, 0.0)
    assert solved.prompt.startswith("Write how many bytes")


async def test_a_test_that_writes_a_gigabyte_is_ended_and_gives_no_reward(tmp_path: Path, bubblewrap: None) -> None:
    flood = "head -c 1000000000 /dev/zero > /app/flood\necho 1 > /logs/verifier/reward.txt || true\n"
    files = {**GREETING, "task.toml": 'schema_version = "1.4"\n', "tests/test.sh": f"set -e\n{flood}"}
    played = await plays(write_harbor(tmp_path / "flood", files), "nop")
    assert played.reward is None
    assert re.search(
        "wrote no /logs/verifier/reward.txt: .*(File size limit|No space left)", str(played.rewards[0].error)
    )


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("true\n", "wrote no /logs/verifier/reward.txt: exit code 0, no output"),
        ("echo yes > /logs/verifier/reward.txt\n", "holds no reward: b'yes"),
        ("echo 7 > /logs/verifier/reward.txt\n", "the reward 7 is not between 0 and 1"),
        ("echo '{\"lines\": 1}' > /logs/verifier/reward.json\n", "no key `reward`, only lines"),
        ('echo \'{"reward": "1"}\' > /logs/verifier/reward.json\n', "reward is no number: '1'"),
        ("cargo test\necho 0 > /logs/verifier/reward.txt\n", "a program that the simulated machine lacks: .*cargo"),
    ],
)
async def test_tests_that_tell_no_reward_are_a_fault_and_no_0(tmp_path: Path, script: str, told: str) -> None:
    played = await plays(write_harbor(tmp_path / "odd", {**GREETING, "tests/test.sh": script}), "nop")
    assert played.reward is None
    assert re.search(told, str(played.rewards[0].error))


BAD: list[tuple[str, Mapping[str, str | None], str]] = [
    (
        "another version",
        {"task.toml": '# new\nschema_version = "2.0"\n'},
        r"task\.toml:2: schema_version: version 2\.0 of the format",
    ),
    (
        "a newer version",
        {"task.toml": 'schema_version = "1.5"\n'},
        r"version 1\.5 .* not known; versions 1\.0 to 1\.4 are",
    ),
    ("no version", {"task.toml": 'schema_version = "one"\n'}, "'one' is no version of the format"),
    ("no TOML", {"task.toml": "[agent\n"}, r"task\.toml:1: this is not TOML"),
    ("a wrong type", {"task.toml": '[verifier]\ntimeout_sec = "long"\n'}, r"task\.toml:2: verifier\.timeout_sec"),
    ("no instruction", {"instruction.md": None}, r"instruction\.md: there is no such file; write there"),
    ("an empty instruction", {"instruction.md": " \n"}, r"instruction\.md:1: the file is empty"),
    ("no tests", {"tests/test.sh": None}, r"tests/test\.sh: there is no such file; add the script"),
    ("no Dockerfile", {"environment/Dockerfile": None}, r"environment/Dockerfile: there is no such file"),
    (
        "an image alone",
        {"environment/Dockerfile": None, "task.toml": '[environment]\ndocker_image = "box:1"\n'},
        r"task\.toml:2: environment\.docker_image: the image 'box:1' needs Docker; add",
    ),
    (
        "an instruction for Docker",
        {"environment/Dockerfile": "FROM python:3.12\n\nRUN apt-get update && \\\n  apt-get install gcc\n"},
        r"environment/Dockerfile:3: RUN is not interpreted without Docker; bring",
    ),
    (
        "another image",
        {"environment/Dockerfile": "FROM node:22\n"},
        r"Dockerfile:1: nothing here can stand in for the image 'node:22'",
    ),
    (
        "services",
        {"environment/docker-compose.yaml": "services: {db: {}}\n"},
        r"docker-compose\.yaml:1: services .* need Docker",
    ),
    ("Windows", {"task.toml": '[environment]\nos = "windows"\n'}, r"task\.toml:2: environment\.os: a task for windows"),
    ("an accelerator", {"task.toml": "[environment]\ngpus = 1\n"}, r"task\.toml:2: environment\.gpus"),
    (
        "a container for the tests",
        {"task.toml": '[verifier]\nenvironment_mode = "separate"\n'},
        r"task\.toml:2: verifier\.environment_mode: a container of its own",
    ),
    (
        "a variable of the host",
        {"task.toml": '[verifier.env]\nKEY = "${SECRET_KEY}"\n'},
        r"task\.toml:2: verifier\.env\.KEY: the variable SECRET_KEY would come from this machine",
    ),
    (
        "a step without a folder",
        {"task.toml": '[[steps]]\nname = "one"\n'},
        r"task\.toml:2: steps\[0\]\.name: there is no folder",
    ),
    (
        "another shell",
        {"task.toml": '[metadata.simtrain]\nshell = "zsh"\n'},
        r"task\.toml:2: .*there is no shell 'zsh'",
    ),
]


@pytest.mark.parametrize(("changed", "told"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_what_cannot_be_played_is_one_line_with_file_line_and_remedy(
    tmp_path: Path, changed: Mapping[str, str | None], told: str
) -> None:
    folder = write_harbor(tmp_path / "bad", {**GREETING, **changed})
    with pytest.raises(InputError) as caught:
        load_scenario(folder)
    assert re.search(told, str(caught.value)), str(caught.value)
    assert ("\n" not in str(caught.value) and caught.value.remedy) or "TOML" in told or "timeout" in told


def test_a_folder_of_folders_is_a_suite_and_a_folder_without_a_solution_is_loaded(tmp_path: Path) -> None:
    write_harbor(tmp_path / "one", GREETING)
    write_harbor(tmp_path / "two", {**GREETING, "solution/solve.sh": None})
    loaded = {scenario.name: scenario for scenario in load_scenarios(str(tmp_path))}
    assert list(loaded) == ["one", "two"]
    assert loaded["two"].spec.reference is None


def test_the_digest_changes_with_the_tests(tmp_path: Path) -> None:
    one = load_scenario(write_harbor(tmp_path / "task", GREETING)).digest
    data: JsonObject = {**GREETING, "tests/more.sh": "true\n"}
    assert load_scenario(write_harbor(tmp_path / "task", data)).digest != one
