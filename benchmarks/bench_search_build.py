"""Cost of building a search world, beside a bare loop that renders the same pages and inserts them into a full-text index."""

from __future__ import annotations

import re
import sqlite3
import tempfile
from dataclasses import dataclass
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from time import process_time

from report import Figure, arguments, cpu, show

from simtrain.assembly import load_world
from simtrain.catalog import find
from simtrain.world import Variant
from simtrain.worlds.search.file import open_file
from simtrain.worlds.search.press import Press, Sheet, compile_all
from simtrain.worlds.search.source import SearchSource

WORLD = "kestrel_reach"
PAGES = 60_000
PRAGMAS = ("synchronous=off", "secure_delete=off", "cache_size=-65536")
_STATED = re.compile(r"(?m)^( +)(?:if \w+: |for m in members: )?st\(\(.*$")


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__ or "")
    source = load_world(find("worlds", WORLD))
    assert isinstance(source, SearchSource)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        built = min(
            (_build(source, folder / f"{number}.sqlite") for number in range(options.rounds)), key=lambda one: one.cpu
        )
        bare = _Bare(source, built.path)
        renders = cpu(bare.render, rounds=options.rounds)
        inserts = cpu(bare.insert, rounds=options.rounds)
    floor = renders + inserts
    show(
        "search worlds, building",
        [
            Figure(
                f"pages a second and core, all in ({built.pages:,} pages)",
                built.pages / built.cpu,
                "/s",
                10_000,
                more=True,
            ),
            Figure("times the CPU of a bare loop", built.cpu / floor, "x", 2.0),
            Figure("  bare loop: rendering a page", renders / built.pages * 1e6, "us"),
            Figure("  bare loop: inserting it with FTS5", inserts / built.pages * 1e6, "us"),
            Figure("bytes a page on disk", built.size / built.pages, "bytes", 3500),
            Figure("words a page", built.words, "words", 110, more=True),
            Figure("statements a page", built.statements, "", 6, more=True),
            Figure("links a page", built.links, "", 5, more=True),
            Figure("peak memory", getrusage(RUSAGE_SELF).ru_maxrss / 1024, "MB"),
        ],
        as_json=options.json,
    )


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


def _build(source: SearchSource, path: Path) -> Built:
    begun = process_time()
    source.build_file(Variant(rows=(("pages", PAGES),)), path)
    spent = process_time() - begun
    connection = open_file(path)
    pages, words = connection.execute("select count(*), avg(words) from _pages").fetchone()
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
        self._sheets: list[Sheet] = []

    def render(self) -> None:
        """Every page."""
        self._sheets = list(self._press.sheets())
        assert not any(sheet.statements for sheet in self._sheets)

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
