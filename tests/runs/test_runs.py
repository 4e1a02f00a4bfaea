"""The run folder: what is in it, what is refused, what survives a full disk, a damaged file and an agent that misbehaves."""

from __future__ import annotations

import asyncio
import json
import resource
import shutil
from pathlib import Path

import bakery
import pytest
import yaml
from real_runs import Bench, ended, until

from simtrain import load_scenario, run
from simtrain.agents.import_agent import as_agent
from simtrain.files.jsonl import LineWriter
from simtrain.runs.export import ExportTally, export
from simtrain.runs.resume import finished_keys
from simtrain.runs.rollout import rollout
from simtrain.runs.run import RunResult
from simtrain.runs.run_folder import read_run
from simtrain.runs.trajectory_files import read_rows
from simtrain.testing import FakeOpenAI, Refuse, Say
from simtrain.values.errors import InputError

pytestmark = pytest.mark.slow

OPTIONS = ("--episodes", "12")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def play(folder: Path, out: str = "run", **options: object) -> RunResult:
    """A run of the bakery in this process."""
    return run([load_scenario(folder / "birthday.yaml")], out=folder / out, **{"agent": "oracle", **options})  # type: ignore[arg-type]


# Two runs, and runs that go on


def test_a_second_run_into_the_same_folder_is_refused_and_the_first_goes_on(bench: Bench) -> None:
    first = bench.start("run", *OPTIONS, agent="gated")
    until(lambda: bench.begun(), running=first)
    for options in ((), ("--resume",)):
        code, said = bench.play("run", *OPTIONS, *options, agent="gated")
        assert code == 2
        assert "another run is writing into this folder" in said
    (bench.folder / "open").touch()
    assert ended(first)[0] == 0
    assert len(bench.trajectories("run")) == 12


def test_a_folder_that_holds_a_run_is_refused_without_resume(tmp_path: Path) -> None:
    bakery.write_files(tmp_path)
    play(tmp_path)
    before = (tmp_path / "run" / "trajectories-000.jsonl").read_bytes()
    with pytest.raises(InputError, match="already holds a run; add --resume"):
        play(tmp_path)
    (tmp_path / "run" / "run.json").unlink()
    with pytest.raises(InputError, match=r"holds trajectories but no run\.json"):
        play(tmp_path)
    assert (tmp_path / "run" / "trajectories-000.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ({}, {"agent": "resilient"}, "played with agent 'oracle', not 'resilient'"),
        ({}, {"seed": 7}, "played with seed 0, not 7"),
        ({"episodes": 8}, {"episodes": 4}, "begun with 8 episodes, more than the 4 asked for now"),
        ({"attempts": 2}, {"attempts": 1, "episodes": 50}, "begun with 2 attempts, more than the 1 asked for now"),
    ],
)
def test_a_run_goes_on_only_as_the_same_run(
    first: dict[str, object], second: dict[str, object], message: str, tmp_path: Path
) -> None:
    bakery.write_files(tmp_path)
    play(tmp_path, **first)
    facts = (tmp_path / "run" / "run.json").read_bytes()
    with pytest.raises(InputError, match=message) as caught:
        play(tmp_path, resume=True, **second)
    assert "choose another folder with --out" in str(caught.value)
    assert (tmp_path / "run" / "run.json").read_bytes() == facts


def test_a_run_of_changed_scenarios_does_not_go_on(tmp_path: Path) -> None:
    file = bakery.write_files(tmp_path)
    play(tmp_path)
    other = tmp_path / "other.yaml"
    other.write_text(file.read_text().replace("birthday", "other"))
    with pytest.raises(InputError, match="played without the scenario other"):
        run([load_scenario(file), load_scenario(other)], "oracle", out=tmp_path / "run", resume=True)
    with pytest.raises(InputError, match="with the scenario birthday, which is not named now"):
        run([load_scenario(other)], "oracle", out=tmp_path / "run", resume=True)
    file.write_text(file.read_text().replace("Order two", "Please order two"))
    with pytest.raises(InputError, match=r"the scenario birthday .* has changed since it was played"):
        play(tmp_path, resume=True)


def test_how_a_model_is_reached_may_change_when_a_run_goes_on(tmp_path: Path) -> None:
    bakery.write_files(tmp_path)
    for resume in (False, True):
        with FakeOpenAI([Say("ANSWER: no idea")] * 2) as server:
            knobs = {"base_url": server.url, "backoff": 0}
            play(tmp_path, agent="chat:fake", knobs=knobs, episodes=4 if resume else 2, resume=resume)
    assert len(list(read_run(tmp_path / "run"))) == 4
    with (
        FakeOpenAI([]) as server,
        pytest.raises(InputError, match=r"agent knob temperature None, not 0\.5|temperature"),
    ):
        play(tmp_path, agent="chat:fake", knobs={"base_url": server.url, "temperature": 0.5}, episodes=4, resume=True)


def test_a_run_grows_in_episodes_and_attempts_and_by_other_means(tmp_path: Path) -> None:
    bakery.write_files(tmp_path)
    assert play(tmp_path, episodes=5).played == 5
    grown = play(tmp_path, resume=True, episodes=9, concurrency=1)
    assert (grown.played, grown.skipped) == (4, 5)
    whole = play(tmp_path, resume=True, attempts=2, workers=2)
    assert (whole.played, whole.skipped) == (24 - 9, 9)
    again = play(tmp_path, resume=True, attempts=2)
    assert (again.played, again.failed, again.interrupted) == (0, 0, False)
    assert len(finished_keys(tmp_path / "run")) == len(list(read_run(tmp_path / "run"))) == 24
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert (facts["episodes"], facts["attempts"], facts["total"]) == (24, 2, None)


def test_a_copied_or_moved_run_is_read_graded_and_gone_on_with(tmp_path: Path) -> None:
    bakery.write_files(tmp_path)
    play(tmp_path, episodes=6)
    shutil.copytree(tmp_path / "run", tmp_path / "copies" / "copy")
    (tmp_path / "copies").rename(tmp_path / "moved")
    assert len(list(read_run(tmp_path / "moved" / "copy"))) == 6
    assert play(tmp_path, "moved/copy", resume=True).skipped == 6
    assert len(list(read_run(tmp_path / "run"))) == 6


# Disks that are full, and folders that cannot be written


@pytest.mark.parametrize("workers", [1, 2])
def test_a_full_disk_is_one_clear_error_and_leaves_whole_lines(bench: Bench, workers: int) -> None:
    options = ("--episodes", "60", "--workers", str(workers), "--concurrency", "8")
    process = bench.start("run", *options)
    until(lambda: (bench.folder / "run" / "run.json").exists(), running=process)
    for pid in (process.pid, *children(process.pid)):
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (50_000, resource.RLIM_INFINITY))
    code, said = ended(process)
    assert code == 2
    (line,) = said.splitlines()
    assert "cannot be written: File too large; choose another folder" in line
    assert "trajectories-00" in line
    assert 0 < len(bench.trajectories("run")) < 60
    assert bench.play("run", *options, "--resume") == (0, "")
    assert len(bench.trajectories("run")) == 60


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_what_a_full_disk_leaves_of_a_line_is_cut_off_before_the_next(tmp_path: Path) -> None:
    path = tmp_path / "trajectories-000.jsonl"
    writer = LineWriter(path)
    writer.write(b'{"line": 1}\n')
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, limits[1]))
    try:
        with pytest.raises(InputError, match=r"trajectories-000\.jsonl: cannot be written: File too large"):
            writer.write(b'{"line": 2}\n')
        assert path.read_bytes() == b'{"line": 1}\n'
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    writer.write(b'{"line": 3}\n')
    writer.close()
    assert path.read_bytes() == b'{"line": 1}\n{"line": 3}\n'


def test_a_line_torn_by_one_writer_of_a_shared_file_does_not_run_into_the_next(tmp_path: Path) -> None:
    path = tmp_path / "failures.jsonl"
    first, second = LineWriter(path, shared=True), LineWriter(path, shared=True)
    first.write(b'{"line": 1}\n')
    with path.open("ab") as killed:
        killed.write(b'{"li')
    second.write(b'{"line": 2}\n')
    first.write(b'{"line": 3}\n')
    first.close()
    second.close()
    assert path.read_bytes() == b'{"line": 1}\n{"line": 2}\n{"line": 3}\n'


def test_a_folder_that_cannot_be_made_is_one_clear_error(bench: Bench) -> None:
    (bench.folder / "file").write_text("no folder")
    code, said = bench.play("file/run")
    assert code == 2
    assert said.startswith(f"error: {bench.folder / 'file' / 'run'}: cannot be written: Not a directory; ")
    assert said.count("\n") == 1
    code, said = bench.play("file")
    assert code == 2
    assert "file: cannot be written" in said


def test_a_disk_that_is_full_from_the_start_leaves_no_folder(tmp_path: Path) -> None:
    bakery.write_files(tmp_path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    scenario = load_scenario(tmp_path / "birthday.yaml")
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        with pytest.raises(InputError, match="cannot be written: File too large"):
            run([scenario], "oracle", out=tmp_path / "new" / "run")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not (tmp_path / "new").exists()


# Damaged files


def test_a_torn_last_line_is_cut_off_and_its_episode_played_again(tmp_path: Path) -> None:
    bakery.write_files(tmp_path)
    play(tmp_path)
    part = tmp_path / "run" / "trajectories-000.jsonl"
    whole = part.read_bytes()
    part.write_bytes(whole[:-100])
    assert len(list(read_run(tmp_path / "run"))) == 11
    assert play(tmp_path, resume=True).played == 1
    assert len(finished_keys(tmp_path / "run")) == 12
    assert part.read_bytes().startswith(whole[: whole.rindex(b"\n", 0, -1) + 1])


@pytest.mark.parametrize("line", [b'{"scenario": "x", "epi\n', b"[1, 2]\n", b"{}\n", b"\n", b"\xff\xfe\n"])
def test_a_broken_line_in_the_middle_is_one_clear_error(line: bytes, tmp_path: Path) -> None:
    bakery.write_files(tmp_path)
    play(tmp_path)
    part = tmp_path / "run" / "trajectories-000.jsonl"
    lines = part.read_bytes().splitlines(keepends=True)
    part.write_bytes(b"".join([*lines[:3], line, *lines[3:]]))
    for read in (
        lambda: play(tmp_path, resume=True),
        lambda: list(read_rows(tmp_path / "run")),
        lambda: list(read_run(tmp_path / "run")),
    ):
        with pytest.raises(InputError, match=r"run/trajectories-000\.jsonl:4: "):
            read()
    part.write_bytes(b"".join(lines))
    assert play(tmp_path, resume=True).played == 0


# What a line holds


def test_every_line_has_the_same_keys_with_values_of_the_same_types(tmp_path: Path) -> None:
    bakery.write_files(tmp_path)
    play(tmp_path, agent="oracle")
    play(tmp_path, "other", agent="nop")
    rows = [*read_rows(tmp_path / "run"), *read_rows(tmp_path / "other")]
    names = ["scenario", "scenario_digest", "episode", "case", "seed", "attempt"]
    assert all(list(row)[: len(names)] == names for row in rows)
    assert len({tuple(row) for row in rows}) == 1
    for name in rows[0]:
        assert len({type(row[name]) for row in rows} - {type(None)}) <= 1


def test_the_card_of_a_run_folder_names_every_column(tmp_path: Path) -> None:
    bakery.write_files(tmp_path)
    play(tmp_path)
    card = (tmp_path / "run" / "README.md").read_text()
    head = yaml.safe_load(card.split("---")[1])
    columns = {column["name"]: column for column in head["dataset_info"]["features"]}
    row = next(read_rows(tmp_path / "run"))
    assert list(columns) == list(row)
    assert columns["case"] == {"name": "case", "dtype": "json"}
    assert columns["reward"] == {"name": "reward", "dtype": "float64"}
    turn = {column["name"]: column for column in columns["turns"]["list"]}
    assert [name for name in turn if name not in ("written", "tokens", "by")] == list(row["turns"][0])
    assert columns["perturbations"]["list"] == "string"


# Who is to blame


MUTE = """\
world_models:
  - {tools: cakes.get, use: scripted, with: {answers: [{tool: cakes.get, args: {name: nobody}, text: "{}"}]}}
  - {tools: "*", use: embedded}
"""


def test_a_fault_of_the_simulator_is_kept_apart_and_played_again(tmp_path: Path) -> None:
    file = bakery.write_files(tmp_path, more=MUTE)
    result = play(tmp_path)
    assert (result.played, result.failed) == (12, 12)
    assert list(read_run(tmp_path / "run")) == []
    failures = [json.loads(line) for line in (tmp_path / "run" / "failures.jsonl").read_text().splitlines()]
    assert {(row["stop"]["reason"], row["stop"]["blame"], row["reward"]) for row in failures} == {
        ("failed", "simulator", None)
    }
    assert play(tmp_path, resume=True).played == 12
    assert run_command(tmp_path, file, "--resume") == 1


def run_command(folder: Path, file: Path, *options: str) -> int:
    """The exit code of `simtrain run`, in this process."""
    from simtrain.cli import main

    with pytest.raises(SystemExit) as ending:
        main(["run", str(file), "--agent", "oracle", "--out", str(folder / "run"), "--json", *options])
    return int(ending.value.code or 0)


def test_a_model_that_cannot_be_reached_spoils_nothing_and_is_asked_again(tmp_path: Path) -> None:
    bakery.write_files(tmp_path)
    replies = iter([Say("ANSWER: 1"), *[Refuse(500)] * 2, Say("ANSWER: 2")])
    with FakeOpenAI(lambda _: next(replies)) as server:
        knobs = {"base_url": server.url, "backoff": 0, "attempts": 1}
        result = play(tmp_path, agent="chat:fake", knobs=knobs, episodes=4, concurrency=1)
        assert (result.played, result.failed) == (4, 2)
    with FakeOpenAI([Say("ANSWER: 3")] * 2) as server:
        knobs = {"base_url": server.url, "backoff": 0, "attempts": 1}
        result = play(tmp_path, agent="chat:fake", knobs=knobs, episodes=4, resume=True)
    assert (result.played, result.skipped, result.failed) == (2, 2, 0)
    assert len(finished_keys(tmp_path / "run")) == len(list(read_run(tmp_path / "run"))) == 4


def test_an_agent_that_breaks_down_is_recorded_and_graded_and_not_exported(bench: Bench) -> None:
    assert bench.play("run", agent="broken") == (0, "")
    played = list(read_run(bench.folder / "run"))
    broken = [trajectory for trajectory in played if trajectory.stop.reason == "failed"]
    assert len(played) == 12
    assert 0 < len(broken) < 12
    for trajectory in broken:
        assert trajectory.stop.blame == "agent"
        assert trajectory.stop.detail == "RuntimeError: my own fault"
        assert trajectory.reward is not None and trajectory.reward < 1
    tally = export(played, exporter="steps", out=bench.folder / "rows.jsonl")
    silent = sum(not trajectory.steps for trajectory in played if trajectory not in broken)
    lacking = {"without a call": silent} if silent else {}
    assert tally == ExportTally(read=12, spoilt=len(broken), exported=12 - len(broken), lacking=lacking)


def nested(depth: int) -> dict[str, object]:
    value: dict[str, object] = {}
    for _ in range(depth):
        value = {"name": value}
    return value


@pytest.mark.parametrize(
    "arguments",
    [
        {"name": 10**400},
        {"name": float("nan")},
        {"name": float("inf")},
        nested(300),
        {"name": "\ud800"},
        {"\ud800": 1},
        {1: "one", None: 2},
        {"name": object()},
        {"name": {1, 2}},
        {"name": b"bytes"},
        "no object",
        None,
        [1],
    ],
    ids=lambda value: type(value).__name__,
)
def test_arguments_that_are_no_json_never_break_a_line(arguments: object, tmp_path: Path) -> None:
    async def odd(prompt: str, tools: object, step: object) -> str:
        await step("cakes.get", arguments)  # type: ignore[operator]
        return "ANSWER: 1"

    scenario = bakery.scenario(tmp_path)
    result = run([scenario], as_agent(odd), out=tmp_path / "run", episodes=2)
    assert (result.played, result.failed) == (2, 0)
    for trajectory in read_run(tmp_path / "run"):
        assert trajectory.stop.blame in (None, "agent")
        assert all(step.observation.is_error for step in trajectory.steps)
    assert run([scenario], as_agent(odd), out=tmp_path / "run", episodes=2, resume=True).played == 0


@pytest.mark.parametrize("said", ["half a pair: \ud800", "ANSWER: \udfff", {"a": "\ud800"}, 10**400], ids=ascii)
def test_words_that_are_no_text_never_break_a_line(said: object, tmp_path: Path) -> None:
    async def odd(prompt: str, tools: object, step: object) -> object:
        return said

    result = run([bakery.scenario(tmp_path)], as_agent(odd), out=tmp_path / "run", episodes=2)
    assert (result.played, result.failed) == (2, 0)
    assert [trajectory.reward for trajectory in read_run(tmp_path / "run")] == [0.0, 0.0]


def test_a_rollout_by_itself_is_the_one_of_a_run(tmp_path: Path) -> None:
    scenario = bakery.scenario(tmp_path)
    play(tmp_path, agent="oracle", episodes=1)
    (recorded,) = read_run(tmp_path / "run")
    from simtrain.agents.select import build_agent
    from simtrain.runs.schedule import Deal

    (episode,) = Deal([scenario], seed=0, total=1, attempts=1)
    alone = asyncio.run(rollout(episode, build_agent("oracle"), name="oracle"))
    assert (alone.key, alone.turns, alone.reward) == (recorded.key, recorded.turns, recorded.reward)
