"""Cost of building search worlds, beside a bare loop that renders the same pages and inserts them into a full-text index."""

from __future__ import annotations

import argparse
import re
import sqlite3
import tempfile
from dataclasses import dataclass
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from time import process_time

from report import Figure, cpu, options, show

from simtrain.contracts.world import Variant
from simtrain.scenarios.find import find
from simtrain.scenarios.load import load_world
from simtrain.worlds.search.file import WORDS, open_file
from simtrain.worlds.search.pages.press import PageSheet, Press, compile_all
from simtrain.worlds.search.source import SearchSource

WORLD = "kestrel_reach"
PAGES = 60_000
PRAGMAS = ("synchronous=off", "secure_delete=off", "cache_size=-65536")
_STATED = re.compile(r"(?m)^( +)(?:for m in members: )?(?:M\d*\[.*\] = |z\d+ = |if .* in K\d+: |mentions \+= ).*$")
"""The lines of a rendering function that note what is stated."""


def main() -> None:
    """Measure and print."""
    parser = options(__doc__ or "")
    parser.add_argument("--world", default=WORLD, help="the world to build")
    parser.add_argument("--all", action="store_true", help="all search worlds that ship, one after the other")
    parser.add_argument("--pages", type=int, default=PAGES, help="how many pages to build")
    given = parser.parse_args()
    for name in search_worlds() if given.all else [given.world]:
        show(f"search worlds, building {name}", _figures(name, given), as_json=given.json)


def search_worlds() -> list[str]:
    """The names of the search worlds that ship."""
    files = sorted(find("worlds", WORLD).parent.glob("*.yaml"))
    return [file.stem for file in files if re.search(r"(?m)^kind: search$", file.read_text("utf-8"))]


def _figures(name: str, given: argparse.Namespace) -> list[Figure]:
    source = load_world(find("worlds", name))
    assert isinstance(source, SearchSource)
    builds: list[Built] = []
    renders: list[float] = []
    inserts: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        # Rounds take turns, so that what else the machine does hits all alike.
        for number in range(given.rounds):
            built = _build(source, Path(folder) / f"{number}.sqlite", given.pages)
            bare = _Bare(source, built.path)
            builds.append(built)
            renders.append(cpu(bare.render, rounds=1))
            inserts.append(cpu(bare.insert, rounds=1))
            bare.check()
            built.path.unlink()
    built = min(builds, key=lambda one: one.cpu)
    floor = min(renders) + min(inserts)
    return [
        Figure(
            f"pages a second and core, all in ({built.pages:,} pages)", built.pages / built.cpu, "/s", 10_000, more=True
        ),
        Figure("times the CPU of a bare loop", built.cpu / floor, "x", 2.0),
        Figure("  bare loop: rendering a page", min(renders) / built.pages * 1e6, "us"),
        Figure("  bare loop: inserting it with FTS5", min(inserts) / built.pages * 1e6, "us"),
        Figure("bytes a page on disk", built.size / built.pages, "bytes", 3500),
        Figure("words a page", built.words, "words", 110, more=True),
        Figure("statements a page", built.statements, "", 6, more=True),
        Figure("links a page", built.links, "", 5, more=True),
        Figure("peak memory", getrusage(RUSAGE_SELF).ru_maxrss / 1024, "MB"),
    ]


@dataclass(frozen=True)
class Built:
    """A build and what it cost in CPU seconds."""

    path: Path
    cpu: float
    pages: int
    size: int
    words: float
    statements: float
    links: float


def _build(source: SearchSource, path: Path, wanted: int) -> Built:
    begun = process_time()
    source.build_file(Variant(rows=(("pages", wanted),)), path)
    spent = process_time() - begun
    connection = open_file(path)
    pages, words = connection.execute(f"select count(*), avg({WORDS}) from _pages").fetchone()
    statements = connection.execute("select count(*) from _statements").fetchone()[0] / pages
    links = connection.execute("select count(*) from _links").fetchone()[0] / pages
    connection.close()
    return Built(path, spent, pages, path.stat().st_size, words, statements, links)


class _Bare:
    """The same templates, compiled the same way, without a note of what is stated; then the plainest insert there is."""

    def __init__(self, source: SearchSource, path: Path) -> None:
        self._connection = open_file(path)
        self._codes = compile_all(source.design)
        for code in self._codes.values():
            code.source = _STATED.sub(r"\1pass", code.source)
        self._press = Press(source.design, self._connection, self._codes, seed=source.seed)
        self._sheets: list[PageSheet] = []

    def render(self) -> None:
        """Every page."""
        self._sheets = list(self._press.sheets())

    def check(self) -> None:
        """That these are the pages that were built, and that nothing was noted of what they state."""
        assert not any(sheet.mentions for sheet in self._sheets)
        built = self._connection.execute("select id, url, title, body from _pages order by id")
        mine = ((page[0], page[2], page[3], page[8]) for sheet in self._sheets for page in sheet.pages)
        assert all(one == other for one, other in zip(built, mine, strict=True))
        self._connection.close()

    def insert(self) -> None:
        """Title and body of every page, into a table and its full-text index."""
        with tempfile.NamedTemporaryFile(suffix=".sqlite") as file:
            connection = sqlite3.connect(file.name, isolation_level=None)
            for pragma in PRAGMAS:
                connection.execute(f"pragma {pragma}")
            connection.execute("create table pages (id integer primary key, url text, title text, body text)")
            connection.execute(
                "create virtual table found using fts5 (title, body, content='pages', content_rowid='id',"
                " tokenize='unicode61 remove_diacritics 2')"
            )
            connection.execute("begin")
            for sheet in self._sheets:
                rows = [(page[0], page[2], page[3], page[8]) for page in sheet.pages]
                connection.executemany("insert into pages values (?, ?, ?, ?)", rows)
                connection.executemany(
                    "insert into found (rowid, title, body) values (?, ?, ?)",
                    [(row[0], row[2], row[3]) for row in rows],
                )
            connection.execute("commit")
            connection.close()


if __name__ == "__main__":
    main()
