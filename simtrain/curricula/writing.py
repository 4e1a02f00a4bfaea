"""A ladder written out: scenario families with their questions, and prompts for trainers that bring their own loop."""

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson
import yaml

from simtrain.contracts.question import Question
from simtrain.contracts.scenario import Episode
from simtrain.curricula.curriculum_file import SPLITS, Split
from simtrain.curricula.levels import Ladder, LevelScenario, is_contaminated, no_questions, question_of
from simtrain.curricula.splits import SplitOverlap, SplitTexts, overlaps, wording
from simtrain.files.jsonl import LineWriter, write_whole
from simtrain.llm.tool_names import definition, wire_names
from simtrain.scenarios.briefing import brief
from simtrain.scenarios.load import load_scenario_file, paradigm_of
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, JsonValue, is_object

FILE = "curriculum.json"


@dataclass(frozen=True, slots=True)
class WrittenFamily:
    """A family written: its split, level, world, scenario file (relative to the folder; none without a task), tasks, and tasks left out."""

    split: Split
    level: int
    world: str
    scenario: str | None
    tasks: int
    dropped: int


@dataclass(frozen=True, slots=True)
class Emitted:
    """What was written, and what the splits shared before tasks were left out."""

    families: tuple[WrittenFamily, ...]
    overlaps: tuple[SplitOverlap, ...]


async def emit(
    ladder: Ladder,
    folder: Path,
    *,
    seed: int = 0,
    on_family: Callable[[LevelScenario], None] = lambda family: None,
) -> Emitted:
    """Write a ladder into a new folder; its index, `curriculum.json`, is written last.

    A task of an earlier split that mentions a name of a later one, or asks the same question, is left out. Raises InputError for a
    folder that is not empty, for a level for which no world has a question, and for one that has no task left.
    """
    if folder.exists() and any(folder.iterdir()):
        raise InputError("the folder is not empty", remedy="name a new one with --out", file=folder)
    by_split: dict[Split, list[list[LevelScenario]]] = {
        split: ladder.families(split, seed=seed) for split in SPLITS if split in ladder.spec.worlds
    }
    texts: dict[Split, SplitTexts] = {split: _texts(found, on_family) for split, found in by_split.items()}
    kept: dict[Split, list[tuple[LevelScenario, list[Question]]]] = {}
    for split, levels in by_split.items():
        later = SPLITS[SPLITS.index(split) + 1 :]
        kept[split] = _without(levels, [texts[other] for other in later if other in texts])
    families = [
        await _write(folder, split, family, questions) for split, left in kept.items() for family, questions in left
    ]
    emitted = Emitted(tuple(families), tuple(overlaps(texts)))
    # Last: an index says that everything it lists is complete.
    write_whole(folder / FILE, {"curriculum": ladder.spec.name, "seed": seed, **asdict(emitted)})
    return emitted


def _texts(levels: Sequence[Sequence[LevelScenario]], on_family: Callable[[LevelScenario], None]) -> SplitTexts:
    names: set[str] = set()
    questions: set[str] = set()
    for level in levels:
        for family in level:
            questions |= {wording(question_of(episode)) for episode in family.episodes}
            names |= family.names
            on_family(family)
        if not any(family.episodes for family in level):
            raise no_questions(level)
    return SplitTexts(frozenset(names), frozenset(questions))


def _without(
    levels: Sequence[Sequence[LevelScenario]], later: Sequence[SplitTexts]
) -> list[tuple[LevelScenario, list[Question]]]:
    """Return the families with the questions that share nothing with a later split. Raises InputError if a level has none left."""
    kept: list[tuple[LevelScenario, list[Question]]] = []
    for level in levels:
        families = [
            (family, [question_of(item) for item in family.episodes if not is_contaminated(item, later)])
            for family in level
        ]
        if not any(questions for _, questions in families):
            raise no_questions(level)
        kept += [(family, questions) for family, questions in families if family.episodes]
    return kept


async def _write(folder: Path, split: Split, family: LevelScenario, kept: Sequence[Question]) -> WrittenFamily:
    """Write one family: its scenario file, its questions next to it, and a prompt for each of them."""
    name = family.scenario.name
    file = Path("scenarios") / split / f"{name}.yaml"
    dropped = len(family.episodes) - len(kept)
    if kept:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / "prompts").mkdir(exist_ok=True)
        questions = b"".join(_line(question.model_dump(mode="json")) for question in kept)
        write_whole(folder / file.with_suffix(".jsonl"), questions.decode())
        written = _standing_in(family, folder / file)
        write_whole(folder / file, yaml.safe_dump(written, sort_keys=False, allow_unicode=True, width=150))
        with closing(LineWriter(folder / "prompts" / f"{split}.jsonl")) as prompts:
            # Numbered as in the written file, which lacks the questions that were left out.
            scenario = load_scenario_file(folder / file, name)
            for episode in paradigm_of(scenario).episodes(scenario, seed=family.drawn, attempts=1):
                prompts.write(_line(await _prompt(episode, family, str(file))))
    return WrittenFamily(split, family.level, family.world, str(file) if kept else None, len(kept), dropped)


def _standing_in(family: LevelScenario, file: Path) -> JsonObject:
    """Return the scenario of a family for its own file: questions next to it, and paths relative to it."""
    cases = family.written["cases"]
    written: JsonObject = {**family.written, "cases": {**cases, "questions": file.with_suffix(".jsonl").name}}

    def seen(named: JsonValue) -> JsonValue:
        if is_object(named):
            return {key: seen(value) if key in ("use", "pack") else value for key, value in named.items()}
        if isinstance(named, str) and named.endswith((".yaml", ".yml")):
            return os.path.relpath(family.document.path.parent / named, file.parent)
        return named

    faults = family.written.get("perturbations", [])
    return {
        **written,
        "world": seen(family.written["world"]),
        **({"perturbations": [seen(fault) for fault in faults]} if faults else {}),
    }


async def _prompt(episode: Episode, family: LevelScenario, file: str) -> JsonObject:
    """Return the agent's prompt for an episode, and the reference for playing it."""
    async with paradigm_of(episode.scenario).open(episode) as environment:
        briefing = brief(episode, environment)
    names = wire_names(tool.name for tool in briefing.tools)
    question = question_of(episode)
    return {
        "id": f"{family.scenario.name}/{question.id}",
        "level": family.level,
        "world": family.world,
        "language": question.language,
        "messages": [{"role": "system", "content": briefing.system}, {"role": "user", "content": briefing.prompt}],
        "tools": [definition(tool, names[tool.name]) for tool in briefing.tools],
        "difficulty": question.difficulty.model_dump(mode="json"),
        "scenario": file,
        "episode": episode.id,
    }


def _line(value: JsonObject) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)
