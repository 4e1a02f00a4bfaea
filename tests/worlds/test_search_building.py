"""Search worlds are built whole, the same everywhere, at any size, and through kills."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
from small_universe import UNIVERSE

from simtrain.contracts.world import Variant
from simtrain.files.yaml_files import parse_document
from simtrain.values.errors import InputError
from simtrain.worlds.search.digest import digest, table_digest, tables
from simtrain.worlds.search.file import open_file
from simtrain.worlds.search.source import SearchSource
from tests.support.databases import open_database

pytestmark = pytest.mark.slow


def source_of(text: str = UNIVERSE, path: Path = Path("small_universe.yaml")) -> SearchSource:
    return SearchSource.load(parse_document(text, path))


def built(folder: Path, text: str = UNIVERSE, **variant: object) -> sqlite3.Connection:
    return open_file(source_of(text).build_file(Variant(**variant), folder / "world.sqlite"))  # pyright: ignore[reportArgumentType]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> sqlite3.Connection:
    return built(tmp_path_factory.mktemp("world"))


def one(connection: sqlite3.Connection, sql: str) -> object:
    return connection.execute(sql).fetchone()[0]


def test_no_page_is_older_than_what_it_tells(tmp_path: Path) -> None:
    listed = "- {{ ship|link }}: {{"
    told = (
        "- {{ ship|link }}, {{ ship.refitted|or('as built') }}{% for visit in ship.visits %},"
        " {{ visit.since }}{% endfor %}: {{"
    )
    assert listed in UNIVERSE
    source = source_of(UNIVERSE.replace(listed, told).replace("count: 24", "count: 90"))
    with closing(open_file(source.build_file(path=tmp_path / "dated.sqlite"))) as world:
        dates = world.execute(
            "select p.id, p.date, coalesce(v.since, s.refitted) from _statements t join _pages p on p.id = t.page"
            " join _attributes a on a.id = t.attribute left join visit v on a.type = 'visit' and v.id = t.entity"
            " left join ship s on a.type = 'ship' and s.id = t.entity"
            " where p.url like '%office%/ports/%' and a.name in ('since', 'refitted')"
        ).fetchall()
    newest: dict[int, str] = {}
    for page, _, day in dates:
        newest[page] = max(newest.get(page, ""), day or "")
    assert any(day > "2088-07-01" for day in newest.values()), "nothing that would have been too young"
    assert all(day >= newest[page] for page, day, _ in dates)
    assert any(day > newest[page] for page, day, _ in dates)


def test_every_statement_covers_the_words_of_its_fact(world: sqlite3.Connection) -> None:
    rows = world.execute(
        "select substr(p.body, s.start + 1, s.length), a.type, a.name, a.kind, a.target, s.entity, s.claim, p.body"
        " from _statements s join _pages p on p.id = s.page join _attributes a on a.id = s.attribute"
    ).fetchall()
    assert len(rows) > 300
    for words, kind, name, sort, target, entity, claim, body in rows:
        assert words
        assert words in body
        if kind in ("_page", "_site"):
            continue
        value = one(world, f'select "{name}" from "{kind}" where id = {entity}')
        if claim is not None:
            value = one(world, f"select value from _claims where id = {claim} and entity = {entity}")
        if sort in ("name", "ref"):
            owner, row = (kind, entity) if sort == "name" else (target, value)
            known = {one(world, f'select name from "{owner}" where id = {row}')}
            known |= {
                found[0]
                for found in world.execute("select alias from _aliases where type = ? and entity = ?", (owner, row))
            }
            assert words in known
        elif name == "crew":
            assert words == f"{value:,}"
        elif sort == "date" and value is not None:
            assert str(value)[:4] in words
        elif sort in ("category", "text"):
            assert words == value


def test_statements_never_overlap_but_where_they_share_their_words(world: sqlite3.Connection) -> None:
    rows = world.execute("select distinct page, start, length from _statements order by page, start").fetchall()
    for (page, start, length), (other, after, _) in pairwise(rows):
        assert page != other or start + length <= after


def test_links_of_a_body_are_the_links_of_the_page(world: sqlite3.Connection) -> None:
    import re
    from urllib.parse import urljoin

    for page, url, body in world.execute("select id, url, body from _pages").fetchall():
        wanted = {urljoin(url, target) for target in re.findall(r"\]\(([^)]+)\)", body)}
        found = {
            row[0] for row in world.execute("select url from _links join _pages on id = target where page = ?", (page,))
        }
        assert found == wanted


def test_every_page_is_in_the_index(world: sqlite3.Connection) -> None:
    assert one(
        world, "select count(*) from _index where _index match 'a OR of OR there OR they OR here OR ports'"
    ) == one(world, "select count(*) from _pages")


def test_a_late_and_unreliable_site_has_claims_with_reasons_and_states_them(world: sqlite3.Connection) -> None:
    reasons = {row[0].partition(":")[0] for row in world.execute("select reason from _claims")}
    assert reasons == {"outdated", "mistaken"}
    sites = world.execute("select distinct s.name from _claims c join _sites s on s.id = c.site").fetchall()
    assert sites == [("gossip",)]
    assert one(world, "select count(*) from _statements where claim is not null")
    false = world.execute(
        "select count(*) from _statements s join _pages p on p.id = s.page join _sites t on t.id = p.site"
        " where s.claim is not null and t.name = 'office'"
    ).fetchone()
    assert false == (0,)


def test_a_late_site_takes_what_ended_since_to_go_on(world: sqlite3.Connection) -> None:
    assert one(world, "select count(*) from visit where until > date('2090-06-01', '-200 days')")
    late = (
        "select count(*) from _pages p join _sites s on s.id = p.site where s.name = 'gossip' and p.body like '%2090%'"
    )
    assert one(world, late) == 0


def test_periods_of_one_row_follow_each_other(world: sqlite3.Connection) -> None:
    overlapping = "select count(*) from visit a join visit b on a.ship = b.ship and a.id < b.id where a.until is null or b.since < a.until"
    assert one(world, overlapping) == 0


def test_the_same_file_and_seed_give_the_same_world_in_another_process(
    world: sqlite3.Connection, tmp_path: Path
) -> None:
    file = tmp_path / "small_universe.yaml"
    file.write_text(UNIVERSE)
    environment = {**os.environ, "PYTHONHASHSEED": "77", "SIMTRAIN_CACHE": str(tmp_path)}
    command = [sys.executable, "-m", "simtrain", "world", "digest", str(file)]
    other = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
    assert other.stdout.strip() == digest(world)


def test_another_seed_gives_another_world(world: sqlite3.Connection, tmp_path: Path) -> None:
    other = built(tmp_path, seed=4)
    assert one(other, "select name from port where id = 1") != one(world, "select name from port where id = 1")


@pytest.mark.parametrize("pages", [10, 40, 400, 3000])
def test_a_world_has_about_as_many_pages_as_asked_for(tmp_path: Path, pages: int) -> None:
    world = built(tmp_path, rows=(("pages", pages),))
    assert one(world, "select count(*) from _pages") == pytest.approx(pages, rel=0.05, abs=4)


def test_counts_may_be_given_by_type(tmp_path: Path) -> None:
    world = built(tmp_path, rows=(("ship", 7),))
    assert one(world, "select count(*) from ship") == 7
    assert one(world, "select count(*) from port") == 6


BEFORE_THE_RENAME = """
import os, signal, sys
from pathlib import Path
from simtrain.files.yaml_files import read_document
from simtrain.worlds.search import building
from simtrain.worlds.search.source import SearchSource

building.sync = lambda path: os.kill(os.getpid(), signal.SIGKILL)
SearchSource.load(read_document(Path(sys.argv[1]))).build_file(path=Path(sys.argv[2]))
"""

KILLED = """
import os, signal, sys
from pathlib import Path
from simtrain.files.yaml_files import read_document
from simtrain.worlds.search import building
from simtrain.worlds.search.source import SearchSource

building.COMMIT_EVERY = 2_000

class Watching:
    done = 0
    def phase(self, doing, total=None):
        if doing == sys.argv[3]:
            os.kill(os.getpid(), signal.SIGKILL)
    def advance(self, count):
        self.done += count
        if self.done > 3_000:
            os.kill(os.getpid(), signal.SIGKILL)

SearchSource.load(read_document(Path(sys.argv[1]))).build_file(path=Path(sys.argv[2]), watching=Watching())
"""


class Counting:
    """Notes how much is done at each step."""

    def __init__(self) -> None:
        self.counts: list[int] = []
        self.phases: list[str] = []

    def phase(self, doing: str, total: int | None = None) -> None:
        self.phases.append(doing)

    def advance(self, count: int) -> None:
        self.counts.append(count)


def test_a_killed_build_leaves_no_world_and_goes_on_where_it_was(tmp_path: Path) -> None:
    file, out = tmp_path / "small_universe.yaml", tmp_path / "killed.sqlite"
    file.write_text(UNIVERSE.replace("seed: 3", "seed: 3\npages: 5000"))
    killed = subprocess.run([sys.executable, "-c", KILLED, str(file), str(out), "-"], check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    assert not out.exists()
    with pytest.raises(InputError, match="cut off"):
        open_file(tmp_path / "killed.sqlite.partial")
    source, counting = source_of(file.read_text(), file), Counting()
    source.build_file(path=out, watching=counting)
    assert 2_000 <= counting.counts[0] <= 3_000
    assert counting.phases == [f"pages, the first {counting.counts[0]:,} are there", "indexes"]
    assert rows_of(out) == rows_of(source.build_file(path=tmp_path / "whole.sqlite"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["killed.sqlite", "small_universe.yaml", "whole.sqlite"]


@pytest.mark.parametrize("phase", ["facts", "pages", "indexes"])
def test_a_build_may_be_killed_in_any_part(tmp_path: Path, world: sqlite3.Connection, phase: str) -> None:
    file, out = tmp_path / "small_universe.yaml", tmp_path / "killed.sqlite"
    file.write_text(UNIVERSE)
    killed = subprocess.run([sys.executable, "-c", KILLED, str(file), str(out), phase], check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    assert not out.exists()
    assert rows_of(source_of(path=file).build_file(path=out)) == [table_digest(world, table) for table in tables(world)]


def test_a_build_killed_after_its_last_commit_only_has_to_be_renamed(tmp_path: Path, world: sqlite3.Connection) -> None:
    file, out = tmp_path / "small_universe.yaml", tmp_path / "killed.sqlite"
    file.write_text(UNIVERSE)
    killed = subprocess.run([sys.executable, "-c", BEFORE_THE_RENAME, str(file), str(out)], check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    assert not out.exists()
    counting = Counting()
    source_of(path=file).build_file(path=out, watching=counting)
    assert counting.phases == []
    assert rows_of(out) == [table_digest(world, table) for table in tables(world)]


def test_a_torn_build_is_thrown_away_and_begun_anew(tmp_path: Path) -> None:
    source = source_of()
    whole = source.build_file(path=tmp_path / "whole.sqlite")
    content = bytearray(whole.read_bytes())
    connection = open_database(tmp_path / "torn.sqlite.partial")
    connection.deserialize(bytes(content))
    target = open_database(tmp_path / "copy")
    connection.backup(target)
    target.execute("delete from _meta where key = 'complete'")
    target.execute("insert into _meta values ('progress', '5')")
    target.execute("delete from _pages where id >= 5")
    target.commit()
    target.close()
    connection.close()
    torn = bytearray((tmp_path / "copy").read_bytes())
    for start in range(4 * 8192, len(torn), 8192):
        torn[start : start + 200] = bytes(200)
    (tmp_path / "torn.sqlite.partial").write_bytes(torn)
    assert rows_of(source.build_file(path=tmp_path / "torn.sqlite")) == rows_of(whole)


def test_a_folder_that_cannot_be_written_is_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="the world cannot be written"):
        source_of().build_file(path=tmp_path / "file" / "world.sqlite")


def rows_of(path: Path) -> list[str]:
    connection = open_file(path)
    found = [table_digest(connection, table) for table in tables(connection)]
    connection.close()
    return found
