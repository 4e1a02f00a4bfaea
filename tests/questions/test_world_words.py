"""What a world's things are called in questions: words of several languages, complete or refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from small_universe import UNIVERSE

from simtrain.agents import searching
from simtrain.contracts.question import QuestionSet
from simtrain.contracts.world import World
from simtrain.files.yaml_files import read_document
from simtrain.questions.asking import made_questions
from simtrain.questions.lexicon import is_plural
from simtrain.questions.schema import WorldSchema
from simtrain.scenarios.load import load_world
from simtrain.values.errors import InputError

pytestmark = pytest.mark.slow

ENGLISH = {
    "labels": {"port.founded": "founding date", "ship.armed": "guns on board"},
    "types": {"visit": ["port visit", "port visits"]},
}
DICTIONARIES = {"en": "english", "zh": "chinese"}
SHIPPED = Path(__file__).parents[2] / "worlds"
CHINESE = {
    "types": {"port": "港口", "ship": "船舶", "visit": "到访记录"},
    "labels": {
        "port.founded": "建港日期", "port.quay": "码头长度", "port.climate": "气候", "port.place": "坐标", "port.ships": "船舶数",
        "port.newest": "最新下水日期", "port.age": "港龄", "ship.home": "母港", "ship.launched": "下水日期", "ship.refitted": "改装日期",
        "ship.crew": "船员数", "ship.price": "造价", "ship.armed": "武装", "ship.plate": "船牌", "visit.ship": "船舶",
        "visit.port": "港口", "visit.berth": "泊位号",
    },
    "units": {"m": "米", "crowns": "克朗"},
    "values": {"port.climate": {"mild": "温和", "stormy": "多风暴", "frozen": "冰封"}},
}  # fmt: skip


def written(folder: Path, **words: object) -> Path:
    """The small universe with these words, as a file."""
    path = folder / "small_universe.yaml"
    path.write_text(UNIVERSE + yaml.safe_dump({"words": words}, allow_unicode=True))
    return path


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return load_world(written(tmp_path_factory.mktemp("words"), en=ENGLISH, zh=CHINESE)).build()


def test_a_world_is_asked_about_in_the_languages_that_it_has_words_for(world: World, tmp_path: Path) -> None:
    assert WorldSchema(world).languages == ("en", "zh")
    silent = load_world(written(tmp_path)).build()
    assert WorldSchema(silent).languages == ("en",)
    assert {made.question.language for made in made_questions(silent, QuestionSet(count=12, rows=(2, 20)))} == {"en"}


@pytest.mark.full
def test_questions_call_things_by_the_words_of_the_file(world: World) -> None:
    asked = [made.question.query for made in made_questions(world, QuestionSet(count=80, rows=(1, 24)))]
    told = "\n".join(asked)
    for words in ("founding date", "guns on board", "port visit", "建港日期", "船员数", "克朗"):
        assert words in told, words
    assert "founded" not in told


@pytest.mark.parametrize(
    ("change", "problem", "remedy"),
    [
        ({"labels": {"port.quay": "码头"}}, "no word for the type 'port'", "give it under `types`"),
        ({**CHINESE, "units": {"m": "米"}}, "no word for the unit 'crowns'", "give it under `units`"),
        ({**CHINESE, "values": {}}, "no word for the value 'port.climate=mild'", "give it under `values`"),
        ({**CHINESE, "types": {**CHINESE["types"], "harbour": "港"}}, "the world has no 'harbour'", ""),
        ({**CHINESE, "values": {"port.climate": {"mildly": "温和"}}}, "port.climate is never 'mildly'", "mild"),
    ],
)
def test_words_that_are_missing_or_of_nothing_are_refused_with_their_place(
    tmp_path: Path, change: dict[str, object], problem: str, remedy: str
) -> None:
    with pytest.raises(InputError) as refused:
        load_world(written(tmp_path, zh=change))
    assert refused.value.problem == problem
    assert remedy in (refused.value.remedy or "")
    assert refused.value.file == str(tmp_path / "small_universe.yaml")
    assert refused.value.line is not None


@pytest.mark.parametrize(
    ("label", "plural"),
    [
        ("flight hours", True),
        ("quests written", True),
        ("bugs fixed", True),
        ("home wins last season", True),
        ("caps for the national side", True),
        ("sailings a year", True),
        ("share of voters", False),
        ("status", False),
        ("hull class", False),
        ("gross tonnage", False),
        ("length in terms", False),
    ],
)
def test_labels_that_speak_of_several_are_told_from_those_that_do_not(label: str, plural: bool) -> None:
    assert is_plural(label) is plural


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_dictionary_of_the_systematic_agent_has_what_shipped_worlds_call_their_facts(language: str) -> None:
    known = read_document(Path(searching.__file__).parent / f"{DICTIONARIES[language]}.yaml").data
    for path in sorted(SHIPPED.glob("*.yaml")):
        words = read_document(path).data.get("words", {}).get(language, {})
        categories = [word for table in words.get("values", {}).values() for word in table.values()]
        assert set(known).issuperset({*words.get("labels", {}).values(), *categories}), path.name
