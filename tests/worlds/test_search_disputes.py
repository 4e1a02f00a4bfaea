"""Where sites disagree, a rule that front pages tell decides; whoever changes a page so that it no longer does is found."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from simtrain.cli.built_worlds import search_source
from simtrain.files.yaml_files import parse_document, read_document
from simtrain.values.errors import InputError
from simtrain.worlds.search.checking.conflicts import Conflicts, check_conflicts
from simtrain.worlds.search.source import SearchSource
from simtrain.worlds.search.spec.units import with_invented
from tests.worlds.test_search_names import WORLDS

KESTREL = Path("worlds/kestrel_reach.yaml")


def checked(connection: sqlite3.Connection, name: str = "kestrel_reach") -> Conflicts:
    return check_conflicts(connection, with_invented(search_source(name).spec.units))


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    path = tmp_path / "copy.sqlite"
    shutil.copy(search_source("kestrel_reach").build_file(), path)
    path.chmod(0o644)
    with closing(sqlite3.connect(path)) as connection:
        yield connection


@pytest.mark.parametrize("name", WORLDS)
def test_every_conflict_of_a_shipped_world_is_decided_and_no_official_site_decides_most(name: str) -> None:
    source = search_source(name)
    with closing(sqlite3.connect(source.build_file())) as connection:
        found = checked(connection, name)
    assert found.problems == []
    assert found.facts > 100 and len(found.by_rule) >= 3
    official = [site for site, spec in source.spec.sites.items() if spec.kind == "official"]
    assert official and all(found.alone[site] <= 0.5 for site in official)
    assert all(share <= 0.62 for share in found.alone.values())


def test_a_page_that_is_dated_anew_leaves_its_conflict_undecided(copy: sqlite3.Connection) -> None:
    claimed = (
        "select s.page from _statements s join _attributes a on a.id = s.attribute"
        " where s.claim is not null and a.type = 'station' and a.name = 'crew'"
    )
    changed = copy.execute(f"update _pages set date = '2199-01-01' where id in ({claimed})").rowcount
    found = checked(copy)
    assert changed > 10
    assert all("recency does not decide it" in problem for problem in found.problems)
    assert len(found.problems) >= changed / 2


def test_a_rule_that_no_front_page_tells_any_more_is_missed(copy: sqlite3.Connection) -> None:
    copy.execute("update _pages set body = replace(body, 'we are the source', 'we say so') where type is null")
    assert [problem.partition(":")[0] for problem in checked(copy).problems] == ["station.berths", "station.orbit"]


def test_two_rules_for_one_fact_decide_nothing(copy: sqlite3.Connection) -> None:
    copy.execute(
        "update _pages set body = body || ' The docking berths of a station are those that most sites name.' "
        "where kind = 'home' and site = 4"
    )
    (problem,) = checked(copy).problems
    assert problem.startswith("station.berths: ") and problem.endswith("front pages tell several rules for it")


def test_corrections_that_are_taken_away_are_missed(copy: sqlite3.Connection) -> None:
    wrong = checked(copy).by_rule["erratum"]
    copy.execute("delete from _mentions where page in (select id from _pages where title like '%orrections%')")
    problems = checked(copy).problems
    assert len(problems) == wrong and all("erratum does not decide it" in problem for problem in problems)


def test_a_source_that_takes_over_the_error_is_found(copy: sqlite3.Connection) -> None:
    berths = "select id from _attributes where type = 'station' and name = 'berths'"
    wrong = f"select entity from _claims where attribute = ({berths}) and site = 1 and value is not null"
    values = copy.execute(f"select id, berths from station where id in ({wrong})").fetchall()
    # The facts change under all pages: now the source is wrong wherever the register was.
    copy.executemany(
        f"update station set berths = (select value from _claims where attribute = ({berths}) and entity = ? and site = 1)"
        " where id = ?",
        [(row, row) for row, _ in values],
    )
    problems = [problem for problem in checked(copy).problems if problem.startswith("station.berths")]
    assert len(problems) >= len(values) / 2 and all("primary does not decide it" in problem for problem in problems)


def test_votes_that_move_to_another_site_no_longer_make_a_majority(copy: sqlite3.Connection) -> None:
    assert checked(copy).by_rule["majority"] > 5
    copy.execute("update _pages set site = 3 where site = 4 and kind = 'thread'")
    assert any("majority does not decide it" in problem for problem in checked(copy).problems)


def test_a_site_that_is_right_in_every_conflict_is_named(copy: sqlite3.Connection) -> None:
    copy.execute(
        "delete from _claims where attribute not in (select id from _attributes where type = 'station' and name in ('crew', 'upkeep'))"
    )
    problems = checked(copy).problems
    assert any(problem.startswith("registry alone is right in ") for problem in problems)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("majority: [station.purpose,", "majority: [station.purposes,", "station has no fact 'purposes'"),
        ("majority: [station.purpose,", "majority: [station.crew,", "station.crew is under two rules"),
        ("majority: [station.purpose,", "majority: [station.name,", "sites are never wrong about a name"),
        ("primary: {lounge:", "primary: {lodge:", "there is no site 'lodge'"),
        ("erratum: [vessel.hull,", "erratum: [vessel.length, vessel.hull,", "no page corrects vessel.length"),
        ("vessel.hull is corrected", "vessel.hull is mended", "'mended' is not a test here"),
        ("        corrections: true\n", "", "'corrected' is not a test here"),
        ("        corrections: true\n", "        corrections: true\n        by: hull\n", "`corrections` is for lists"),
    ],
)
def test_rules_that_cannot_work_are_refused_with_their_place(old: str, new: str, problem: str) -> None:
    text = KESTREL.read_text(encoding="utf-8")
    assert old in text
    with pytest.raises(InputError) as caught:
        SearchSource.load(parse_document(text.replace(old, new), KESTREL))
    assert problem in str(caught.value) and caught.value.line is not None


def test_a_world_without_rules_is_told_so_where_its_sites_disagree(tmp_path: Path) -> None:
    document = read_document(KESTREL)
    text = KESTREL.read_text(encoding="utf-8")
    begin = text.index("\ndisputes:\n")
    bare = text[:begin] + text[text.index("\nsites:\n") :]
    source = SearchSource.load(parse_document(bare, document.path))
    with closing(sqlite3.connect(source.build_file(path=tmp_path / "bare.sqlite"))) as connection:
        problems = checked(connection).problems
    assert any(problem.endswith("no front page tells what decides it") for problem in problems)


def test_nobody_errs_on_what_no_rule_decides() -> None:
    source = search_source("kestrel_reach")
    assert source.spec.disputes is not None
    sql = "select distinct a.type || '.' || a.name from _claims c join _attributes a on a.id = c.attribute where c.value is not null"
    with closing(sqlite3.connect(source.build_file())) as connection:
        claimed = {path for (path,) in connection.execute(sql)}
    assert claimed == set(source.spec.disputes.paths())


def test_a_site_that_copies_another_is_no_second_voice(copy: sqlite3.Connection) -> None:
    assert checked(copy).by_rule["majority"] > 5
    # The other pages of both sites fall silent, and the forum prints the paper's.
    copy.execute("delete from _mentions where page in (select id from _pages where site = 4 and kind <> 'thread')")
    pages = "select entity, id, body from _pages where type = 'station' and site = ? and kind = ?"
    portraits = {row: body for row, _, body in copy.execute(pages, (3, "feature"))}
    for row, page, body in copy.execute(pages, (4, "thread")).fetchall():
        copy.execute("update _pages set body = ? where id = ?", (body + "\n\n" + portraits.get(row, ""), page))
    assert any("majority does not decide it" in problem for problem in checked(copy).problems)
