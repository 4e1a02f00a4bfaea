"""A ladder written out: scenario families with their questions, and prompts for trainers that bring their own loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

import orjson
import yaml

from simtrain.assembly import paradigm_of
from simtrain.errors import InputError
from simtrain.ladder.rungs import Ladder, Rung, no_questions, question_of
from simtrain.ladder.spec import SPLITS, Split
from simtrain.ladder.splits import Overlap, Said, names_in_world, overlaps, wording
from simtrain.lines import LineWriter, write_whole
from simtrain.rollouts import brief
from simtrain.scenario import Episode
from simtrain.types import JsonObject
from simtrain.wire_names import definition, wire_names

FILE = "curriculum.json"


@dataclass(frozen=True, slots=True)
class Family:
    """A family written: its split, level, world, scenario file (relative to the folder), tasks, and tasks left out."""

    split: Split
    level: int
    world: str
    scenario: str
    tasks: int
    dropped: int


@dataclass(frozen=True, slots=True)
class Emitted:
    """What was written, and what the splits shared before tasks were left out."""

    families: tuple[Family, ...]
    overlaps: tuple[Overlap, ...]


async def emit(
    ladder: Ladder, folder: Path, *, seed: int = 0, on_rung: Callable[[Rung], None] = lambda rung: None
) -> Emitted:
    """Write a ladder into a new folder; `curriculum.json`, which says what there is, comes last.

    A task of an earlier split that says a name of a later one, or asks the same, is left out. Raises InputError for a folder that
    is not empty, and for a level that no world has a question for.
    """
    if folder.exists() and any(folder.iterdir()):
        raise InputError("the folder is not empty", remedy="name a new one with --out", file=folder)
    rungs: dict[Split, list[list[Rung]]] = {
        split: ladder.rungs(split, seed=seed) for split in SPLITS if split in ladder.spec.worlds
    }
    said: dict[Split, Said] = {split: _said(found, on_rung) for split, found in rungs.items()}
    families: list[Family] = []
    for split, levels in rungs.items():
        later = [said[other] for other in SPLITS[SPLITS.index(split) + 1 :] if other in said]
        for rung in (rung for level in levels for rung in level if rung.episodes):
            families.append(await _write(folder, split, rung, later))
    emitted = Emitted(tuple(families), tuple(overlaps(said)))
    write_whole(folder / FILE, {"curriculum": ladder.spec.name, "seed": seed, **asdict(emitted)})
    return emitted


def _said(levels: Sequence[Sequence[Rung]], on_rung: Callable[[Rung], None]) -> Said:
    names: set[str] = set()
    questions: set[str] = set()
    for level in levels:
        for rung in level:
            questions |= {wording(question_of(episode)) for episode in rung.episodes}
            for variant in {episode.variant for episode in rung.episodes}:
                names |= names_in_world(rung.scenario.source.build(variant))
            on_rung(rung)
        if not any(rung.episodes for rung in level):
            raise no_questions(level[0])
    return Said(frozenset(names), frozenset(questions))


async def _write(folder: Path, split: Split, rung: Rung, later: Sequence[Said]) -> Family:
    """One family: its scenario file, its questions beside it, and a prompt for each of them."""
    name = rung.scenario.name
    file = Path("scenarios") / split / f"{name}.yaml"
    kept = [episode for episode in rung.episodes if not _is_said(episode, later)]
    cases = cast(JsonObject, rung.written["cases"])
    written = {**rung.written, "cases": {**cases, "questions": f"{name}.jsonl"}}
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    (folder / "prompts").mkdir(exist_ok=True)
    questions = b"".join(_line(question_of(episode).model_dump(mode="json")) for episode in kept)
    write_whole(folder / file.with_suffix(".jsonl"), questions.decode())
    write_whole(folder / file, yaml.safe_dump(written, sort_keys=False, allow_unicode=True, width=150))
    with closing(LineWriter(folder / "prompts" / f"{split}.jsonl")) as prompts:
        for episode in kept:
            prompts.write(_line(await _prompt(episode, rung, str(file))))
    return Family(split, rung.level, rung.world, str(file), len(kept), len(rung.episodes) - len(kept))


async def _prompt(episode: Episode, rung: Rung, file: str) -> JsonObject:
    """What an agent reads of an episode, and where to play it."""
    async with paradigm_of(episode.scenario).open(episode) as environment:
        told = brief(episode, environment)
    names = wire_names(tool.name for tool in told.tools)
    question = question_of(episode)
    return {
        "id": f"{rung.scenario.name}/{question.id}",
        "level": rung.level,
        "world": rung.world,
        "language": question.language,
        "messages": [{"role": "system", "content": told.system}, {"role": "user", "content": told.prompt}],
        "tools": [definition(tool, names[tool.name]) for tool in told.tools],
        "difficulty": question.difficulty.model_dump(mode="json"),
        "scenario": file,
        "episode": episode.id,
    }


def _is_said(episode: Episode, later: Sequence[Said]) -> bool:
    question = question_of(episode)
    gold = question.gold(episode.scenario.source.build(episode.variant).query)
    cells = [str(cell) for row in gold for cell in row.values()]
    return any(said.stands_in(question, cells) for said in later)


def _line(value: JsonObject) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)
