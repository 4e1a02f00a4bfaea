"""Whoever changes what a page says is found, in every shipped world and in one of a model's words, whatever is moved along."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
from deceiving import TRICKS, Deceiving
from marking import first_here

from simtrain.cli import main
from simtrain.contracts.world import Variant
from simtrain.files.yaml_files import Document, read_document
from simtrain.llm.client import ChatClient
from simtrain.scenarios.find import shipped_root
from simtrain.testing import FakeOpenAI, Say
from simtrain.validation.search_worlds.prose import prose_of
from simtrain.values.types import JsonObject
from simtrain.worlds.search.checking.pages import check_pages
from simtrain.worlds.search.checking.pieces import NOTHING, AuthorProse, judged, pieces_of, place_of
from simtrain.worlds.search.file import open_file
from simtrain.worlds.search.pages.enriching import enrich
from simtrain.worlds.search.pages.rewording import read_reworded
from simtrain.worlds.search.source import SearchSource

pytestmark = pytest.mark.slow

FOLDER = shipped_root() / "worlds"
WORLDS = [path.stem for path in sorted(FOLDER.glob("*.yaml")) if "\nkind: search\n" in path.read_text()]
EACH = 3
"""Pages that are changed in each way: 51 of a world."""
LOST = ("lost_category", "other_link_target")
"""What the words around do not always give away: a common word that nothing states any more, a link to a page like its own."""


def deceived(source: SearchSource, file: Path, copy: Path, wording: AuthorProse) -> tuple[int, dict[str, str]]:
    """How many pages were changed, and those that were not found, or blamed for nothing."""
    world = Deceiving(file, copy)
    changed = sum(world.change(trick, EACH) for name, trick in TRICKS.items() if name not in LOST)
    return changed, world.missed(dict(source.design.units), wording)


@pytest.mark.parametrize("name", first_here(WORLDS))
def test_whatever_is_changed_on_fifty_pages_is_found_and_no_other_page_blamed(name: str, tmp_path: Path) -> None:
    source = SearchSource.load(read_document(FOLDER / f"{name}.yaml"))
    wording = prose_of(source.document.data)
    changed, missed = deceived(source, source.build_file(), tmp_path / "copy.sqlite", wording)
    assert (changed >= 50, missed) == (True, {})


def test_most_of_what_is_lost_among_common_words_is_found(tmp_path: Path) -> None:
    source = SearchSource.load(read_document(FOLDER / "kestrel_reach.yaml"))
    world = Deceiving(source.build_file(), tmp_path / "copy.sqlite")
    changed = sum(world.change(TRICKS[name], 20) for name in LOST)
    missed = world.missed(dict(source.design.units), prose_of(source.document.data))
    assert changed == 40 and len(missed) <= 4


SENTENCES = (
    "So it is told.", "Those who were there agree.", "Nobody has written a song about it.", "Rumour has little to add.",
    "Old hands shrug when they are asked.",
)  # fmt: skip


def test_a_world_in_a_models_words_agrees_with_its_facts_and_deceives_nobody(tmp_path: Path) -> None:
    plain = SearchSource.load(read_document(FOLDER / "kestrel_reach.yaml"))
    words = tmp_path / "words.jsonl"

    def reworded(body: JsonObject) -> Say:
        page = body["messages"][1]["content"].partition("The page:\n\n")[2]
        lines = page.split("\n")
        return Say("\n".join(
            f"{SENTENCES[len(line) % len(SENTENCES)]} {line}" if re.search("[a-z]", line) else line for line in lines
        ))  # fmt: skip

    async def worded(server: FakeOpenAI) -> int:
        client = ChatClient("fake", base_url=server.url)
        try:
            return (await enrich(plain.build_file(), words, client, limit=400)).kept
        finally:
            await client.close()

    with FakeOpenAI(reworded) as server:
        assert asyncio.run(worded(server)) > 300
    data = {**plain.document.data, "enriched": "words.jsonl"}
    (tmp_path / "kestrel_reach.yaml").write_text("x: 1\n")
    source = SearchSource.load(Document(path=tmp_path / "kestrel_reach.yaml", data=data, lines={}))
    file = source.build_file(path=tmp_path / "worded.sqlite")
    wording = prose_of(data, [line.text for _, line in read_reworded(words)])
    changed, missed = deceived(source, file, tmp_path / "copy.sqlite", wording)
    assert (changed >= 50, missed) == (True, {})


def test_several_processes_find_what_one_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simtrain.worlds.search.checking.pages.ALONE", 100)
    source = SearchSource.load(read_document(FOLDER / "kestrel_reach.yaml"))
    world = Deceiving(source.build_file(), tmp_path / "copy.sqlite")
    for trick in TRICKS.values():
        world.change(trick, 2)
    world.connection.commit()
    world.connection.close()
    found, read = [], []
    for workers in (1, 3):
        connection = open_file(tmp_path / "copy.sqlite")
        pages: list[int] = []
        found.append(
            check_pages(
                connection,
                source.design.units,
                wording=prose_of(source.document.data),
                workers=workers,
                on_pages=pages.append,
            )
        )
        connection.close()
        read.append(sum(pages))
    assert found[0] == found[1] and len({problem.page for problem in found[0].problems}) > 30
    assert read == [found[0].pages] * 2


@pytest.mark.parametrize(
    ("piece", "wrong"),
    [
        ("It has 12 docks", "the number '12'"),
        ("at ١٢ o'clock", "the number '١٢'"),
        ("½ of it", "the number '½'"),
        ("in Ⅻ parts", "the number 'Ⅻ'"),
        ("5 m² of it", "the number '5'"),
        ("it is ²", "the number '²'"),
        ("Zor\u200bblat", "the sign U+200B"),
        ("soft\u00adhyphen", "the sign U+00AD"),
    ],
)
def test_numbers_of_all_scripts_and_signs_that_do_not_show_never_stand_in_prose(piece: str, wrong: str) -> None:
    assert [what for _, what in judged(piece, NOTHING).wrong] == [wrong]


@pytest.mark.parametrize(
    "words", ["twelve", "forty-one", "third", "dozen", "percent", "million", "Wednesday", "October", "XIV", "twice"]
)
def test_words_that_count_or_date_are_suspect(words: str) -> None:
    suspects = judged(f"there were {words} of them", NOTHING).suspects
    assert [suspect.words for suspect in suspects if suspect.kind == "count"] == [f"were {words.casefold()} of"]


def test_the_place_of_what_stands_in_a_piece_is_that_in_the_page() -> None:
    body = "Ab [Zor](/zor) has 5 docks.\n\n[More](/x/y) 7 times"
    stated = [(body.index("Zor"), body.index("Zor") + 3), (body.index("5"), body.index("5") + 1)]
    targets = [match.span(1) for match in re.finditer(r"\]\(([^()\s]*)\)", body)]
    pieces = pieces_of(body, stated, targets)
    assert pieces == ["\nAb [", "]() has ", " docks.\n\n[More]() 7 times"]
    for number, piece in enumerate(pieces):
        for word in re.finditer(r"\w+", piece):
            place = place_of(body, stated, targets, number, word.start())
            assert body[place : place + len(word[0])] == word[0]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("drop table station", "it has no table station"),
        ("alter table station drop column crew", "its table station has no column crew"),
        ("update _pages set body = x'00ff' where id = 5", "page 5 is not text"),
        ("update _pages set id = 1152921504606846976 where id = 9", "numbered from 1 to 1152921504606846976"),
        ("update _targets set targets = '[1,' where page = 7", "the entry of page 7 in _targets is not JSON"),
        ("update _mentions set claims = '{' where page = 7", "the entry of page 7 in _mentions is not JSON"),
        ("delete from _pages", "it has no pages"),
    ],
)
def test_a_file_that_is_not_what_its_tables_say_is_refused_in_one_line(
    change: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = _small(tmp_path)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(change)
        connection.commit()
    with pytest.raises(SystemExit) as ended:
        main(["world", "check", str(file), "--against", "kestrel_reach", "--json"])
    told = capsys.readouterr()
    assert (ended.value.code, told.out) == (2, "")
    assert problem in told.err and "simtrain world build" in told.err and len(told.err.strip().splitlines()) == 1


@pytest.mark.parametrize("seed", range(6))
def test_bytes_changed_anywhere_are_told_as_problems_or_as_a_damaged_file(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, random = _small(tmp_path), Random(seed)
    content = bytearray(file.read_bytes())
    for _ in range(20):
        content[random.randrange(len(content))] = random.randrange(256)
    file.write_bytes(content)
    with pytest.raises(SystemExit) as ended:
        main(["world", "check", str(file), "--against", "kestrel_reach", "--json"])
    told = capsys.readouterr()
    if ended.value.code == 2:
        assert told.out == "" and len(told.err.strip().splitlines()) == 1
    else:
        # A byte may lie where nothing is read, or be a letter of prose.
        assert (json.loads(told.out)["wrong"] > 0) == bool(ended.value.code)


def _small(folder: Path) -> Path:
    source = SearchSource.load(read_document(FOLDER / "kestrel_reach.yaml"))
    return source.build_file(Variant(rows=(("pages", 150),)), folder / "small.sqlite")
