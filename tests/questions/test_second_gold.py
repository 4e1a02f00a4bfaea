"""Gold tables against a second builder, which has a question's text and the facts and nothing else."""

from __future__ import annotations

import ast
import csv
import json
import os
from functools import cache
from pathlib import Path

import pytest
import second_gold
from planted_gold import DEFECTS
from second_gold.comparing import SecondGold

from simtrain.cli import main
from simtrain.contracts.world import World
from simtrain.files.yaml_files import read_document
from simtrain.questions import making
from simtrain.questions.making import Made, QuestionMaker
from simtrain.scenarios.find import shipped_root
from simtrain.worlds.search.source import SearchSource

pytestmark = pytest.mark.slow

FOLDER = shipped_root() / "worlds"
WORLDS = [path.stem for path in sorted(FOLDER.glob("*.yaml")) if "\nkind: search\n" in path.read_text()]
FULL = bool(os.environ.get("SIMTRAIN_FULL"))


class Shipped:
    """A shipped world, and the second builder over its facts."""

    def __init__(self, name: str) -> None:
        source = SearchSource.load(read_document(FOLDER / f"{name}.yaml"))
        self.world: World = source.build()
        self.second = SecondGold(source.build_file())

    def differences(self, made: list[Made]) -> list[str]:
        """What is wrong with the gold of questions."""
        found = [
            self.second.difference(
                item.question.query,
                item.question.language,
                None if item.question.answer == "unanswerable" else item.gold,  # pyright: ignore[reportArgumentType]
            )
            for item in made
        ]
        return [problem for problem in found if problem is not None]

    def idle(self, item: Made) -> bool:
        """True if a condition of a question changes nothing."""
        question = item.question
        return question.answer != "unanswerable" and bool(self.second.idle(question.query, question.language))


@cache
def shipped(name: str) -> Shipped:
    return Shipped(name)


def written(world: str, count: int, folder: Path) -> list[str]:
    """The differences in what `simtrain world questions` writes in the format of WideSearch."""
    with pytest.raises(SystemExit) as stopped:
        main(["world", "questions", world, "--count", str(count), "--out", str(folder / "out"), "--json"])
    assert not stopped.value.code
    second = SecondGold(SearchSource.load(read_document(FOLDER / f"{world}.yaml")).build_file())
    problems: list[str] = []
    lines = (folder / "out" / "widesearch.jsonl").read_text("utf-8").splitlines()
    for question in map(json.loads, lines):
        with (folder / "out" / "gold" / f"{question['instance_id']}.csv").open(
            encoding="utf-8-sig", newline=""
        ) as file:
            gold = list(csv.DictReader(file))
        problem = second.difference(question["query"], question["language"], gold)
        idle = second.idle(question["query"], question["language"])
        problems += [] if problem is None and not idle else [f"{question['instance_id']}: {problem}; needless: {idle}"]
    assert len(lines) >= count * 0.8
    return problems


def test_what_is_exported_as_widesearch_is_what_the_texts_ask_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert written("kestrel_reach", 100, tmp_path) == []


@pytest.mark.full
@pytest.mark.parametrize("name", WORLDS)
def test_gold_of_every_shipped_world_is_what_the_texts_ask_for(name: str) -> None:
    made = list(QuestionMaker(shipped(name).world, seed=11).make(2000 if FULL else 100))
    assert len(made) == (2000 if FULL else 100)
    assert shipped(name).differences(made) == []
    assert not any(shipped(name).idle(item) for item in made)


def test_a_condition_that_changes_nothing_is_found_by_the_second_builder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "without_idle", lambda shape, *_: shape)
    made = QuestionMaker(shipped("kestrel_reach").world, families=["joined", "differed", "temporal"], seed=2).make(60)
    assert any(shipped("kestrel_reach").idle(item) for item in made)


def test_conditions_that_change_nothing_are_left_out_and_their_hops_are_none() -> None:
    kestrel = shipped("kestrel_reach")
    made = list(QuestionMaker(kestrel.world, families=["joined", "differed", "temporal"], seed=2).make(60))
    assert kestrel.differences(made) == []
    assert not any(kestrel.idle(item) for item in made)


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_in_the_sql_is_reported(defect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world, families, plant = DEFECTS[defect]
    plant(monkeypatch)
    made = QuestionMaker(shipped(world).world, families=families, seed=2).make(40)
    assert any(shipped(world).differences([item]) for item in made)


def test_a_text_that_cannot_be_read_counts_as_a_difference() -> None:
    told = "Sing a song of sixpence. What matters is the truth as of today, 2147-03-02; where pages differ,"
    second = shipped("kestrel_reach").second
    assert "unreadable" in str(second.difference(f"{told} official sources come first.", "en", []))


def test_the_second_builder_shares_no_code_with_the_first() -> None:
    for file in Path(next(iter(second_gold.__path__))).glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                assert not any(name.name.startswith("simtrain") for name in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert not (node.module or "").startswith("simtrain")
