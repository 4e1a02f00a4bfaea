"""Tasks of the bug factory as cases: git itself proves what the agent gets, no commit has a hidden test, shortcuts earn nothing."""

from __future__ import annotations

import asyncio
import json
import subprocess
from base64 import b64decode
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from broken_repositories import shop_family

from simtrain import load_scenario, rollout
from simtrain.agents.select import build_agent
from simtrain.contracts.plan import CallStep, Plan
from simtrain.contracts.scenario import Episode, Scenario
from simtrain.contracts.world import World
from simtrain.public import episode, open_episode
from simtrain.scenarios.beginning import world_of
from simtrain.scenarios.find import shipped_scenarios
from simtrain.scenarios.repository_tasks import tasks_of
from simtrain.values.errors import InputError
from simtrain.values.types import Action
from simtrain.worlds.bugs.plans import edits, literal, shortcuts
from simtrain.worlds.bugs.task import BugTask
from simtrain.worlds.repositories.commits import past_of
from simtrain.worlds.repositories.history import committed_trees, history_of
from tests.support.sandboxes import opened

REPOSITORIES = ("confit", "inkwell", "rota", "sieve", "trellis")
FAMILIES = [f"swe/{name}_bugs" for name in REPOSITORIES]


def _task(found: Episode) -> BugTask:
    return tasks_of(found.scenario.spec.cases, found.scenario.document)[str(found.case["task"])]


def _checked_out(world: World, directory: str, place: Path) -> Path:
    """Write the repository of a world to the disk, with its `.git`."""
    for row in world.query("select * from files where path like :below order by path", {"below": f"{directory}/%"}):
        path = place / str(row["path"])[len(directory) + 1 :]
        if row["kind"] == "directory":
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b64decode(row["base64"]) if row["base64"] else str(row["content"] or "").encode())
    return place


def _git(place: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(place), *words], check=True, capture_output=True, text=True).stdout


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.parametrize("name", FAMILIES)
def test_git_finds_a_clean_repository_with_the_mistake_in_it_and_no_hidden_test_in_any_commit(
    name: str, tmp_path: Path
) -> None:
    with opened("wasm"):
        scenario = load_scenario(shipped_scenarios()[name])
    assert len(tasks_of(scenario.spec.cases, scenario.document)) >= 12
    for case in (0, 7):
        one = episode(scenario, case=case)
        task, directory = _task(one), str(one.case["directory"])
        place = _checked_out(world_of(one), directory, tmp_path / str(case))
        _git(place, "fsck", "--strict")
        assert _git(place, "status", "--porcelain") == ""
        assert len(_git(place, "log", "--oneline").splitlines()) >= 10
        for test in task.hidden:
            shown = _git(place, "log", "-p", "--all", "--", test.partition("::")[0])
            assert f"def {test.partition('[')[0].rpartition('::')[2]}(" not in shown
        fixed = [line[1:] for line in task.fix.splitlines() if line.startswith("+") and not line.startswith("+++")]
        # The last commit has the mistake, so that the repair is new to git.
        (place.parent / "fix").write_text(task.fix)
        _git(place, "apply", "--check", str(place.parent / "fix"))
        assert fixed == [] or not all(line in _git(place, "show", "HEAD") for line in fixed)


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.parametrize("name", FAMILIES)
def test_a_special_case_or_a_wide_except_earns_nothing_though_no_test_was_touched(name: str) -> None:
    with opened("wasm"):
        scenario = load_scenario(shipped_scenarios()[name])
        met = set[str]()
        for case in range(12):
            one = episode(scenario, case=case)
            task, directory = _task(one), str(one.case["directory"])
            rows = world_of(one).query("select path, content from files where path like :p", {"p": f"{directory}/%.py"})
            files = {str(row["path"])[len(directory) + 1 :]: str(row["content"]) for row in rows}
            for path, text in shortcuts(task, files).items():
                kind = "special" if "_is_known_case" in text else "wide"
                if kind not in met:
                    met.add(kind)
                    _earns_nothing(scenario, one, f"{directory}/{path}", text)
        assert met


def _earns_nothing(scenario: Scenario, one: Episode, path: str, text: str) -> None:
    steps = [("read", {"file_path": path}), ("write", {"file_path": path, "content": literal(text)})]
    plan = Plan(
        steps=[CallStep.model_validate({"call": tool, "with": arguments}) for tool, arguments in steps], answer="done"
    )
    spec = scenario.spec.model_copy(update={"wrong": plan})
    played = asyncio.run(
        rollout(replace(one, scenario=replace(scenario, spec=spec, unarmed=None)), build_agent("wrong"))
    )
    assert played.reward == 0.0
    assert "tests did not pass" in str(played.rewards[0].detail), played.rewards


def test_edits_make_one_text_another_each_replacing_what_stands_once() -> None:
    rng = Random(5)
    for _ in range(300):
        before = "\n".join(rng.choice(("a", "b", "c", "")) for _ in range(rng.randrange(1, 30)))
        lines = before.split("\n")
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(lines) + 1)
            lines[at : at + rng.randrange(3)] = [rng.choice(("x", "a", "")) for _ in range(rng.randrange(3))]
        after, text = "\n".join(lines), before
        if not before:
            continue
        for old, new in edits(before, after):
            assert text.count(old) == 1, (before, after, old)
            text = text.replace(old, new)
        assert text == after


def test_a_history_written_for_a_file_is_read_back_as_the_same_trees() -> None:
    folder = Path(__file__).parents[2] / "worlds" / "repositories" / "rota"
    trees = past_of(folder).trees
    back = committed_trees(trees[-1].files, history_of(trees))
    assert [tree.files for tree in back] == [tree.files for tree in trees]


@pytest.mark.slow
@pytest.mark.full
def test_a_family_of_an_own_repository_is_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with opened("wasm"):
        scenario = load_scenario(shop_family(tmp_path))
        played = asyncio.run(rollout(episode(scenario), build_agent("oracle")))
        assert played.reward == 1.0, played.rewards
        assert "Too much tax {{ x }}." in played.prompt
        wrong = asyncio.run(rollout(episode(scenario), build_agent("wrong")))
        assert wrong.reward == 0.0
        asyncio.run(_commits(episode(scenario)))


async def _commits(found: Episode) -> None:
    """The user of the machine has a name for git, and graders know the commits."""
    async with open_episode(found) as environment:
        line = "cd ~/kiosk && git commit -q --allow-empty -m More && git log --format='%an: %s' -n 1"
        seen = await environment.step(Action("1", "bash", {"command": line}))
    assert not seen.is_error and "Robin Vale: More" in seen.text
    (first,) = world_of(found).query("select number, length(sha) as length from past_commits", {})
    assert first == {"number": 0, "length": 40}


@pytest.mark.parametrize(("readme", "told"), [("README.rst", True), (None, False)])
@pytest.mark.slow
@pytest.mark.full
def test_the_prompt_and_the_oracle_know_which_readme_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, readme: str | None, *, told: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    with opened("wasm"):
        scenario = load_scenario(shop_family(tmp_path, readme=readme))
        played = asyncio.run(rollout(episode(scenario), build_agent("oracle")))
    assert played.reward == 1.0, played.rewards
    assert ("README tells" in played.prompt) == told
    first = played.steps[0]
    assert first.action.arguments["command"].startswith(
        "cd /home/robin/kiosk && " + ("cat README.rst && git" if told else "git")
    )
    assert "No such file" not in first.observation.text


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("tasks: shop_bugs.jsonl", "tasks: gone.jsonl", "there is no file gone.jsonl beside the scenario; `simtrain world bugs"),
        (  # Another directory.
            "  directory: /home/robin/kiosk\nrubric", "  directory: /srv/shop\nrubric",
            "no repository made of a folder at /srv/shop; it has /home/robin/kiosk",
        ),
        ("  directory: /home/robin/kiosk\nrubric", "rubric", "`tasks` and `directory` belong together"),
        ("  tasks: shop_bugs.jsonl", "  tasks: shop_bugs.jsonl\n  rows: [{}]", "cases need one of"),
    ],
)  # fmt: skip
@pytest.mark.slow
@pytest.mark.full
def test_what_does_not_fit_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with opened("wasm"):
        file = shop_family(tmp_path)
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))
        with pytest.raises(InputError) as raised:
            load_scenario(file)
    assert told in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.slow
@pytest.mark.full
def test_a_world_without_the_table_and_a_patch_for_other_files_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with opened("wasm"):
        file = shop_family(tmp_path)
        code = tmp_path / "worlds" / "repositories" / "kiosk" / "shop" / "prices.py"
        code.write_text(code.read_text().replace("RATES[kind] // 100", "RATES[kind] // 1000"))
        with pytest.raises(InputError, match="setup of tax: the patch does not apply"):
            load_scenario(file)
    with opened("wasm"):
        file = shop_family(tmp_path)
        world = tmp_path / "worlds" / "kiosk.yaml"
        world.write_text(world.read_text().replace("create table hidden_tests", "create table other_tests"))
        with pytest.raises(InputError, match="no table hidden_tests with path and content"):
            load_scenario(file)


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.parametrize("key", ["fix", "tests"])
def test_a_patch_of_a_task_that_does_not_apply_is_refused_when_the_family_is_loaded(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = shop_family(tmp_path)
    tasks = file.with_suffix(".jsonl")
    line = json.loads(tasks.read_text())
    # Not the first, which is the one that is tried out.
    tasks.write_text(json.dumps(line) + "\n" + json.dumps({**line, "id": "second", key: line["setup"]}) + "\n")
    with opened("wasm"), pytest.raises(InputError, match=f"cases.{key} of second: the patch does not apply") as raised:
        load_scenario(file)
    assert raised.value.file is not None and raised.value.file.endswith("shop_bugs.yaml") and raised.value.line
