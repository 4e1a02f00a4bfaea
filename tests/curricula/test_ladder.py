"""Ladders: levels over search worlds, climbed by success or by time, with a ledger, splits that share nothing, files for trainers."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from itertools import islice, permutations
from pathlib import Path
from statistics import fmean

import pytest

from simtrain import climb, load_scenarios, rollout
from simtrain.cli import main
from simtrain.curricula.levels import Ladder, load_ladder
from simtrain.curricula.sampler import Climb, Task
from simtrain.scenarios.load import paradigm_of
from simtrain.values.errors import InputError

pytestmark = pytest.mark.slow

LEVELS = """\
levels:
  - name: lookups
    questions: {count: 8, hops: [0, 1], rows: [1, 4], languages: [en]}
  - name: joins
    questions: {count: 8, hops: [1, 2], rows: [2, 10], languages: [en]}
    difficulty: {facts: [6, 200]}
  - name: tables
    questions: {count: 8, hops: [1, 3], rows: [4, 20]}
"""
ADAPTIVE = f"""\
name: earned
worlds: {{train: [kestrel_reach]}}
rows: {{pages: 200}}
{LEVELS}adaptive: {{low: 0.4, high: 0.7, window: 8}}
"""
KESTREL = Path(__file__).parents[2] / "worlds/kestrel_reach.yaml"
PACED = f"""\
name: paced
worlds: {{train: [kestrel_reach]}}
rows: {{pages: 200}}
{LEVELS}mix: {{easier: 0, harder: 0}}
pace: {{tasks: 30, curve: CURVE}}
"""


@pytest.fixture(scope="module")
def ladder(tmp_path_factory: pytest.TempPathFactory) -> Ladder:
    """The adaptive one, whose questions are made once for all tests."""
    return load_ladder(write(tmp_path_factory.mktemp("ladder"), ADAPTIVE))


@pytest.fixture
def climbing(ladder: Ladder) -> Callable[..., Climb]:
    families = ladder.families("train")

    def begin(**options: Path | int) -> Climb:
        return Climb(ladder.spec, families, **options)  # type: ignore[arg-type]

    return begin


def write(folder: Path, text: str) -> Path:
    file = folder / "steps.yaml"
    file.write_text(text)
    return file


def dealt(task: Task) -> tuple[int, int, str, str, int]:
    episode = task.episode
    return task.place, task.level, episode.scenario.name, episode.id, episode.attempt


def test_who_masters_a_level_climbs_and_who_fails_goes_back(climbing: Callable[..., Climb]) -> None:
    tasks = climbing()
    levels: list[int] = []
    for task in islice(tasks, 60):
        levels.append(tasks.level)
        tasks.reward(task, 1.0)
    assert levels[0] == 0 and levels[-1] == 2
    for task in islice(tasks, 60):
        tasks.reward(task, 0.0)
    assert tasks.level == 0


def test_success_in_the_band_changes_nothing(climbing: Callable[..., Climb]) -> None:
    tasks = climbing()
    for task in islice(tasks, 50):
        tasks.reward(task, 0.55)
    assert tasks.level == 0 and tasks.success == pytest.approx(0.55)


def test_only_tasks_of_the_level_itself_decide(climbing: Callable[..., Climb]) -> None:
    tasks = climbing()
    for task in islice(tasks, 60):
        tasks.reward(task, 0.55 if task.level == 0 else 1.0)
    assert tasks.level == 0


def test_an_adaptive_ladder_keeps_a_learner_within_its_band(climbing: Callable[..., Climb]) -> None:
    """Skill grows with every task; each level takes a third more of it than the one before."""
    tasks = climbing()
    skill, met = 0.6, []
    for task in islice(tasks, 300):
        reward = max(0.0, min(1.0, skill - 0.35 * task.level))
        skill += 0.003
        tasks.reward(task, reward)
        if task.level == tasks.level:
            met.append(reward)
    assert tasks.level == 2
    assert 0.4 <= fmean(met[:100]) <= 0.75 and 0.4 <= fmean(met[100:]) <= 0.9


def test_easier_and_harder_tasks_are_mixed_in_by_their_shares(climbing: Callable[..., Climb]) -> None:
    tasks = climbing()
    while tasks.level == 0:
        tasks.reward(tasks.deal(), 1.0)
    met = [task.level for task in islice(tasks, 400)]
    assert tasks.level == 1
    shares = [met.count(level) / len(met) for level in range(3)]
    assert shares == pytest.approx([0.25, 0.6, 0.15], abs=0.07)


@pytest.mark.parametrize(("curve", "half"), [("linear", 1), ("exponential", 0)])
def test_a_pace_climbs_by_the_number_of_tasks(tmp_path: Path, curve: str, half: int) -> None:
    tasks = climb(write(tmp_path, PACED.replace("CURVE", curve)))
    levels = [task.level for task in islice(tasks, 40)]
    assert levels == sorted(levels)
    assert levels[0] == 0 and levels[14] == half and levels[30] == 2


def test_uniform_takes_all_levels_in_equal_shares_whatever_is_earned(ladder: Ladder) -> None:
    spec = ladder.spec.model_copy(update={"adaptive": None, "uniform": True})
    tasks, met = Climb(spec, ladder.families("train")), list[int]()
    for task in islice(tasks, 600):
        met.append(task.level)
        tasks.reward(task, 1.0)
    assert [met.count(level) for level in range(3)] == [200] * 3
    assert {tuple(met[at : at + 3]) for at in range(0, 600, 3)} == set(permutations(range(3)))


def test_the_same_rewards_give_the_same_tasks(climbing: Callable[..., Climb]) -> None:
    streams: list[list[tuple[int, int, str, str, int]]] = []
    for _ in range(2):
        tasks = climbing(seed=3)
        streams.append([])
        for task in islice(tasks, 40):
            streams[-1].append(dealt(task))
            tasks.reward(task, 0.9)
    assert streams[0] == streams[1]
    assert [dealt(task) for task in islice(climbing(seed=4), 40)] != streams[0]


def test_every_question_is_asked_once_before_one_is_asked_again(climbing: Callable[..., Climb]) -> None:
    tasks = climbing()
    first: list[str] = []
    for task in tasks:
        if task.level == 0:
            first.append(task.episode.id)
            if task.episode.attempt == 1:
                break
    assert len(set(first[:-1])) == len(first) - 1 == 8


@pytest.mark.parametrize("how", ["adaptive: {low: 0.4, high: 0.7, window: 8}", "pace: {tasks: 30}", "uniform: true"])
def test_a_climb_goes_on_where_its_ledger_stands(ladder: Ladder, tmp_path: Path, how: str) -> None:
    spec = load_ladder(write(tmp_path, ADAPTIVE.replace("adaptive: {low: 0.4, high: 0.7, window: 8}", how))).spec
    climbing, ledger = partial(Climb, spec, ladder.families("train")), tmp_path / "ledger.jsonl"
    whole = climbing()
    expected: list[tuple[int, int, str, str, int]] = []
    for task in islice(whole, 30):
        expected.append(dealt(task))
        whole.reward(task, 0.9)
    begun = climbing(ledger=ledger)
    for task in islice(begun, 17):
        begun.reward(task, 0.9)
    unrewarded = begun.deal()
    begun.close()
    with ledger.open("ab") as file:
        file.write(b'{"rewarded":17,"rew')
    resumed = climbing(ledger=ledger)
    again = resumed.deal()
    assert dealt(again) == dealt(unrewarded) == expected[17]
    resumed.reward(again, 0.9)
    for task in islice(resumed, 12):
        assert dealt(task) == expected[task.place]
        resumed.reward(task, 0.9)
    assert resumed.level == whole.level


def test_a_ledger_of_another_climb_is_refused(climbing: Callable[..., Climb], tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.jsonl"
    climbing(ledger=ledger).close()
    with pytest.raises(InputError, match="another seed"):
        climbing(ledger=ledger, seed=1)
    lines = ledger.read_text()
    ledger.write_text(re.sub(r'"scenarios":"\w+"', '"scenarios":"00"', lines))
    with pytest.raises(InputError, match="other worlds or perturbations"):
        climbing(ledger=ledger)
    ledger.write_text(lines + '{"dealt":0,"level":2,"scenario":"tables_kestrel_reach","episode":"c0000","attempt":0}\n')
    with pytest.raises(InputError, match="not dealt here"):
        climbing(ledger=ledger)
    ledger.write_text(lines + '{"rewarded":5,"reward":1}\n')
    with pytest.raises(InputError, match="not open here"):
        climbing(ledger=ledger)
    ledger.write_text(lines + '{"rewarded":0,"reward":5}\n')
    with pytest.raises(InputError, match="less than or equal to 1"):
        climbing(ledger=ledger)
    ledger.write_text("nonsense\n")
    with pytest.raises(InputError, match="not a line of a ledger"):
        climbing(ledger=ledger)


def test_no_task_says_a_name_of_a_later_split(tmp_path: Path) -> None:
    # The same world but for its clock: only what has no answer gives nothing away.
    twin = KESTREL.read_text().replace("per_step: 20s", "per_step: 21s", 1)
    (tmp_path / "twin.yaml").write_text(twin)
    file = write(tmp_path, ADAPTIVE.replace("[kestrel_reach]}", "[kestrel_reach], test: [twin.yaml]}"))
    for (family,) in load_ladder(file).families("train"):
        assert len(family.episodes) > 4
        assert {episode.case["answer"] for episode in family.clean} <= {"unanswerable"}
    for (family,) in load_ladder(file).families("test"):
        assert family.clean == family.episodes
    file.write_text(file.read_text().replace("rows: [1, 4]", "rows: [1, 4], compose: [topped], unanswerable: 0"))
    with pytest.raises(
        InputError, match=r"levels\[0\]: every task of the level 'lookups' says what a later split says"
    ):
        climb(file).deal()


def test_two_climbs_do_not_write_one_ledger(climbing: Callable[..., Climb], tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.jsonl"
    first, second = climbing(ledger=ledger), climbing(ledger=ledger)
    first.reward(first.deal(), 1)
    with pytest.raises(InputError, match="somebody else has written"):
        second.deal()
    first.reward(first.deal(), 1)
    first.close()
    assert climbing(ledger=ledger).deal().place == 2


@pytest.mark.full
def test_a_ledger_replays_byte_for_byte_after_kills(tmp_path: Path) -> None:
    write(tmp_path, ADAPTIVE)
    program = """
import os, sys
from simtrain import climb
ledger, killed = sys.argv[1], int(sys.argv[2])
for task in (tasks := climb("steps.yaml", ledger=ledger)):
    if task.place == killed:
        os.kill(os.getpid(), 9)
    tasks.reward(task, task.place * 7 % 10 / 10)
    if task.place == 29:
        break
"""
    for ledger, kills in (("whole", [-1]), ("killed", [3, 3, 17, 28, -1])):
        for killed in kills:
            ended = subprocess.run([sys.executable, "-c", program, ledger, str(killed)], cwd=tmp_path, timeout=120)
            assert ended.returncode == (0 if killed < 0 else -9)
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "killed").read_bytes()


def test_a_reward_that_could_not_be_had_deals_the_task_again(climbing: Callable[..., Climb], tmp_path: Path) -> None:
    tasks = climbing(ledger=tmp_path / "ledger.jsonl")
    first, second = tasks.deal(), tasks.deal()
    tasks.reward(first, None)
    assert tasks.deal() is first
    tasks.reward(second, None)
    tasks.reward(second, 0.5)  # it came after all
    assert tasks.deal().place == 2
    tasks.close()
    resumed = climbing(ledger=tmp_path / "ledger.jsonl")
    resumed.reward(0, 0.5)
    assert [resumed.deal().place, resumed.deal().place] == [2, 3]


def test_a_reward_counts_once_and_lies_between_0_and_1(climbing: Callable[..., Climb]) -> None:
    tasks = climbing()
    task = tasks.deal()
    with pytest.raises(InputError, match="from 0 to 1"):
        tasks.reward(task, 1.5)
    tasks.reward(task, 1)
    with pytest.raises(InputError, match="no open task 0"):
        tasks.reward(task, 1)


def test_what_is_dealt_can_be_played(climbing: Callable[..., Climb]) -> None:
    async def play() -> list[float | None]:
        return [(await rollout(task.episode, "oracle")).reward for task in islice(climbing(), 6)]

    assert asyncio.run(play()) == [1.0] * 6


def test_what_was_measured_bounds_a_level(ladder: Ladder) -> None:
    joins = ladder.families("train")[1][0]
    answered = [episode for episode in joins.episodes if episode.case["answer"] != "unanswerable"]
    facts = [episode.case["difficulty"]["facts"] for episode in answered]  # type: ignore[index,call-overload]
    assert facts and all(6 <= count <= 200 for count in facts)  # type: ignore[operator]


def test_a_curriculum_is_written_out_for_trainers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, ADAPTIVE.replace("[kestrel_reach]}", "[kestrel_reach], test: [other.yaml]}"))
    (tmp_path / "other.yaml").write_text(other_world())
    with pytest.raises(SystemExit) as ended:
        main(["curriculum", "steps.yaml", "--out", "out", "--json"])
    assert ended.value.code in (0, None)
    said = json.loads(capsys.readouterr().out)
    assert {family["split"] for family in said["families"]} == {"train", "test"}
    assert said["overlaps"][0]["questions"] == []
    prompts = [json.loads(line) for line in Path("out/prompts/train.jsonl").read_text().splitlines()]
    assert len(prompts) == sum(family["tasks"] for family in said["families"] if family["split"] == "train")
    assert [message["role"] for message in prompts[0]["messages"]] == ["system", "user"]
    assert {tool["function"]["name"] for tool in prompts[0]["tools"]} >= {"web_search", "web_extractor"}
    scenarios = load_scenarios("out/scenarios/train")
    assert len(scenarios) == 3
    assert asyncio.run(rollout(scenarios[0], "oracle")).reward == 1.0
    # The world of the other split is a file, which is named as it lies from the scenario.
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    tests = load_scenarios(str(tmp_path / "out/scenarios/test"))
    assert asyncio.run(rollout(tests[0], "oracle")).reward == 1.0
    monkeypatch.chdir(tmp_path)
    for split in ("train", "test"):
        for line in Path(f"out/prompts/{split}.jsonl").read_text().splitlines():
            prompt = json.loads(line)
            (opened,) = [
                episode
                for family in load_scenarios(f"out/{prompt['scenario']}")
                for episode in paradigm_of(family).episodes(family, seed=0, attempts=1)
                if episode.id == prompt["episode"]
            ]
            assert opened.case["query"] == prompt["messages"][1]["content"]
    with pytest.raises(SystemExit) as ended:
        main(["curriculum", "steps.yaml", "--out", "out"])
    assert ended.value.code == 2
    assert "the folder is not empty" in capsys.readouterr().err


def other_world() -> str:
    """Kestrel Reach with another seed, so that it shares a schema and, as like as not, some names."""
    return KESTREL.read_text().replace("name: kestrel_reach", "name: other_reach", 1).replace("seed: 7", "seed: 8", 1)


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("worlds: {train: [kestrel_reach], test: [kestrel_reach]}", "is listed twice"),
        ("worlds: {train: []}", "a split without worlds"),
        ("worlds: {train: [kestrel]}", "unknown world 'kestrel'"),
        ("worlds: {train: [helpdesk]}", "worlds.train[0]: helpdesk is a world of the kind service; name search worlds"),
        ("worlds: {train: [kestrel_reach], test: [./twin.yaml]}", "worlds.test[0]: ./twin.yaml is kestrel_reach again"),
        ("worlds: {train: [kestrel_reach]}\nseeds: [1, 2, 1]", "names a seed twice"),
        ("worlds: {train: [kestrel_reach]}\ntools: [web_serch]", "tools[0]: no tool of the world"),
        ("worlds: {train: [kestrel_reach]}\npace: {tasks: 5}", "by `adaptive` or by `pace`"),
        ("worlds: {train: [kestrel_reach]}\nuniform: true", "or is `uniform`"),
        ("worlds: {train: [kestrel_reach]}\nmix: {easier: 0.6, harder: 0.5}", "leave nothing"),
        ("worlds: {train: [kestrel_reach]}\nlevel: 3", "unknown key 'level'"),
    ],
)
def test_a_bad_curriculum_is_one_clear_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    written: str,
    problem: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "twin.yaml").write_text(KESTREL.read_text())
    write(tmp_path, ADAPTIVE.replace("worlds: {train: [kestrel_reach]}", written))
    with pytest.raises(SystemExit) as ended:
        main(["curriculum", "steps.yaml", "--out", "out"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1 and "steps.yaml" in said and problem in said
    assert not Path("out").exists()


def test_a_level_that_no_world_has_questions_for_is_said(tmp_path: Path) -> None:
    text = ADAPTIVE.replace("difficulty: {facts: [6, 200]}", "difficulty: {facts: [100000, 200000]}")
    tasks = climb(write(tmp_path, text.replace("mix:", "mix:")))
    with pytest.raises(InputError, match="no world has a question for the level 'joins'"):
        for task in islice(tasks, 100):
            tasks.reward(task, 1.0)
