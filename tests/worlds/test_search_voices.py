"""Pages are written in several voices, and have what pages of real webs have: navigation, comments, copies, a footer."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from small_universe import UNIVERSE

from simtrain.files.yaml_files import parse_document
from simtrain.validation.search_worlds.prose import followers, prose_of
from simtrain.values.errors import InputError
from simtrain.worlds.search.checking.pages import check_pages
from simtrain.worlds.search.file import open_file
from simtrain.worlds.search.pages.alternatives import nested, pieces_of, polished
from simtrain.worlds.search.pages.tree import Branch, Node, ProsePart, Speaks, WordsPart
from simtrain.worlds.search.source import SearchSource

pytestmark = pytest.mark.slow

WORLDS = Path(__file__).parents[2] / "worlds"
SETTINGS = """\
    voices:
      dry: {share: 3, says: {so: ["by the book,", "on paper,", ""], end: [", as entered", ""]}}
      wet: {says: {so: ["splash,", "drip,", ""], end: [", they drip", ""]}}
    navigation: {Office: home, Ships: ships}
    footer: "{{ site.title }}, keeper of quays"
    comments:
      heading: What readers say
      share: 0.7
      most: 2
      readers: [old salt, gull]
      under:
        port: ["[Nice|Fine] quay at {{ port }}.", "Never been there.", "It is {{ port.climate }}, [mates|friends]."]
"""
COPIES = """\
    near_duplicates:
      - {of: office.port, share: 1, url: "/copy/{{ slug }}", note: "Copied on {{ page.date }}."}
"""
PROSE = (
    "{{ voice.so }} {{ port }} was founded on {{ port.founded }} and has a quay of {{ port.quay|in('lek') }}{{ voice.end }}."
    " {{ voice.so }} the [harbour|port] is home to {{ port.ships }} ships."
)
OLD = "{{ port }} was founded on {{ port.founded }} and has a quay of {{ port.quay|in('lek') }}, home to {{ port.ships }} ships."


def world(text: str = "") -> str:
    found = text or UNIVERSE.replace(OLD, PROSE)
    assert OLD not in found or text
    office = "    title: Harbour Office\n    kind: official\n"
    gossip = "    reliability: 0.7\n    aliases: 0.5\n"
    assert office in found and gossip in found
    return found.replace(office, office + SETTINGS).replace(gossip, gossip + COPIES)


def source(text: str) -> SearchSource:
    return SearchSource.load(parse_document(text, Path("small_universe.yaml")))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> sqlite3.Connection:
    path = tmp_path_factory.mktemp("voices") / "world.sqlite"
    return open_file(source(world().replace("count: 6\n", "count: 90\n")).build_file(path=path))


def bodies(connection: sqlite3.Connection, where: str) -> list[str]:
    return [row[0] for row in connection.execute("select body from _pages where url like ? order by id", (where,))]


def ways(text: str) -> Sequence[str]:
    pieces, depth = pieces_of(text, 0)
    assert depth == 0
    return said(polished(nested(pieces)))


def said(nodes: Sequence[Node]) -> list[str]:
    texts = [""]
    for node in nodes:
        if isinstance(node, Branch):
            options = [*said(node.body), *said(node.otherwise)]
        else:
            assert isinstance(node, ProsePart | WordsPart)
            options = [node.text] if isinstance(node, ProsePart) else [*node.lists[0]]
        texts = [one + option for one in texts for option in options]
    return texts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("by [day|night].", ["By day.", "By night."]),
        ("[on paper |]it [still |]is.", ["On paper it still is.", "On paper it is.", "It still is.", "It is."]),
        ("It is. [so|thus|] they say.", ["It is. So they say.", "It is. Thus they say.", "It is. They say."]),
        ("Go[, [now|soon]|].", ["Go, now.", "Go, soon.", "Go."]),
        ("a | b", ["A | b"]),
        ("So. [so|] [far|near] it is.", ["So. So far it is.", "So. So near it is.", "So. Far it is.", "So. Near it is."]),
    ],
)  # fmt: skip
def test_alternatives_read_like_sentences(text: str, expected: list[str]) -> None:
    assert ways(text) == expected


def test_a_sentence_behind_a_condition_or_within_one_begins_with_a_capital() -> None:
    so = WordsPart((("so,", ""),))
    behind = [Branch(Speaks(0), (ProsePart("yes. "),), (ProsePart("no. "),)), so, ProsePart(" they say.")]
    assert said(polished(behind)) == [
        "Yes. So, they say.", "Yes. They say.", "No. So, they say.", "No. They say.",
    ]  # fmt: skip
    within = [ProsePart("It is."), Branch(Speaks(0), (ProsePart(" "), so, ProsePart(" they say.")), (ProsePart(""),))]
    assert said(polished(within)) == ["It is. So, they say.", "It is. They say.", "It is."]
    # What differs by condition cannot be drawn along: something is said before it.
    before = [so, ProsePart(" "), Branch(Speaks(0), (ProsePart("they say."),), (ProsePart("we say."),))]
    assert said(polished(before)) == ["So, they say.", "So, we say."]


@pytest.mark.parametrize(
    ("text", "problem"), [("[by day", "never closed"), ("by day]", "without a \\["), ("[by day]", "need alternatives")]
)
def test_brackets_that_hold_no_alternatives_are_refused(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        source(UNIVERSE.replace("There are {{ page.members }} of them.", text))


def test_a_page_is_one_voice_s_from_end_to_end_and_says_nothing_twice(built: sqlite3.Connection) -> None:
    spoken = Counter[str]()
    for body in bodies(built, "https://office%/ports/%"):
        dry = re.findall("by the book,|on paper,|as entered", body, re.IGNORECASE)
        wet = re.findall("splash,|drip,|they drip", body, re.IGNORECASE)
        assert not (dry and wet), body
        assert max(Counter(one.lower() for one in [*dry, *wet]).values(), default=0) <= 1, body
        spoken.update(["dry"] * bool(dry) + ["wet"] * bool(wet))
    assert spoken["dry"] > spoken["wet"] > 0


def test_a_voice_without_a_phrase_that_another_one_has_is_refused() -> None:
    with pytest.raises(InputError, match="'wet' has no phrase for 'end'"):
        source(world().replace(', end: [", they drip", ""]', ""))


def test_every_page_of_a_site_has_its_navigation_and_its_footer(built: sqlite3.Connection) -> None:
    for body in bodies(built, "https://office%"):
        assert body.endswith("\n\nHarbour Office, keeper of quays")
        assert "Office" in body.split("\n\n")[-2] and " | " in body.split("\n\n")[-2]


def test_comments_stand_under_their_share_of_pages_and_none_comes_twice(built: sqlite3.Connection) -> None:
    found = bodies(built, "https://office%/ports/%")
    commented = [body.split("### What readers say\n\n")[1].split("\n\n") for body in found if "### What" in body]
    assert 0.5 < len(commented) / len(found) < 0.9
    counts = Counter[int]()
    for parts in commented:
        comments = [part.split("\n")[1] for part in parts if part.startswith("**")]
        counts[len(comments)] += 1
        assert len({re.sub("Nice|Fine|mates|friends", "", comment) for comment in comments}) == len(comments)
    assert set(counts) == {1, 2}
    assert not any("### What" in body for body in bodies(built, "https://gossip%"))


def test_copies_read_nearly_like_what_they_copy_on_a_day_of_their_own(built: sqlite3.Connection) -> None:
    rows = built.execute(
        "select a.body, b.body, a.date, b.date, a.title from _pages a join _pages b on b.type = a.type and b.entity = a.entity"
        " where a.url like 'https://office%/ports/%' and b.url like 'https://gossip%/copy/%'"
    ).fetchall()
    assert len(rows) == len(bodies(built, "https://office%/ports/%"))
    same = [_words(mine.split("\n\n")[0]) == _words(copy.split("\n\n")[0]) for mine, copy, *_ in rows]
    # The copying site has a third of the facts wrong, so that words which hang on them may differ.
    assert sum(same) > 0.9 * len(same)
    assert sum(one != other for _, _, one, other, _ in rows) > 0.9 * len(rows)
    assert all("Copied on" in copy and "keeper of quays" not in copy for _, copy, *_ in rows)


def _words(text: str) -> str:
    return re.sub(r"\]\([^)]*\)|[\[\]]|\b[A-Z0-9][\w,.]*", "", text)


def test_voices_comments_and_copies_agree_with_the_facts(built: sqlite3.Connection) -> None:
    found = source(world())
    checked = check_pages(built, found.design.units, wording=prose_of(found.document.data))
    assert [str(problem) for problem in checked.problems] == []
    assert built.execute(
        "select count(*) from _statements s join _claims c on c.id = s.claim where c.site = 2"
    ).fetchone()[0]


def test_a_sentence_that_no_voice_says_is_found(tmp_path: Path) -> None:
    found = source(world())
    path = found.build_file(path=tmp_path / "world.sqlite")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("update _pages set body = replace(body, 'Office, keeper', 'Office, by keeper') where id = 3")
        connection.commit()
    with closing(open_file(path)) as connection:
        checked = check_pages(connection, found.design.units, wording=prose_of(found.document.data))
    assert any("'by keeper' are not the author's" in str(problem) for problem in checked.problems)


@pytest.mark.full
@pytest.mark.parametrize("name", ["kestrel_reach", "ysmere_federation"])
def test_processes_of_other_hash_seeds_build_one_world_with_all_settings_of_sites(name: str, tmp_path: Path) -> None:
    written = (WORLDS / f"{name}.yaml").read_text()
    settings = ("voices", "navigation", "comments", "footer", "near_duplicates", "corrections", "disputes")
    assert [key for key in settings if not re.search(rf"^ *{key}:", written, re.MULTILINE)] == []
    digests: set[str] = set()
    for seed in ("0", "77"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "SIMTRAIN_CACHE": str(tmp_path / seed)}
        command = [sys.executable, "-m", "simtrain", "world", "digest", name, "--pages", "300"]
        told = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120)
        digests.add(told.stdout.strip())
    assert len(digests) == 1 and digests != {""}


def test_what_is_to_be_copied_stands_before_the_copying_site() -> None:
    with pytest.raises(InputError, match=r"no earlier site has a page kind 'office\.quay'"):
        source(world().replace("of: office.port", "of: office.quay"))


def test_followers_are_all_pairs_that_alternatives_allow() -> None:
    tokens = ["a", "[", "b", "¦", "[", "c", "¦", "]", "]", "d"]
    assert followers(tokens) == {("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("a", "d")}
