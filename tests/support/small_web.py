"""A small search world made by hand, for tests: ports, ferries and the pages of three sites, in the tables of a world file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from simtrain.contracts.world import Variant
from simtrain.files.yaml_files import Document, Place
from simtrain.values.clock import instant
from simtrain.values.types import JsonObject
from simtrain.worlds.search.file import FORMAT, INDEXES, TABLES
from simtrain.worlds.search.pages.mentions import StatementRow, mentions
from simtrain.worlds.search.spec.view import View
from simtrain.worlds.search.world import SearchWorld
from tests.support.databases import open_database

FACTS = """
create table port (id integer primary key, name text not null unique, harbourmaster text, opened text, berths integer);
create table ferry (id integer primary key, name text not null unique, home integer references port, capacity integer, speed real);
"""

PORTS = (
    (1, "Velmora Quay", "Isra Tolbane", "2098-05-14", 12),
    (2, "Dranhollow", "Oswin Karvel", "2111-09-30", 7),
    (3, "Pell Harbour", "Mirel Andvast", "2104-02-02", 23),
)
FERRIES = (
    (1, "Brine Heron", 1, 640, 21.5),
    (2, "Tallow Gull", 1, 312, 18.0),
    (3, "Sable Petrel", 2, 455, 24.5),
    (4, "Copper Tern", 3, 1280, 19.0),
)
ATTRIBUTES = (
    (1, "port", "name", "name"),
    (2, "port", "harbourmaster", "text"),
    (3, "port", "opened", "date"),
    (4, "port", "berths", "number"),
    (5, "ferry", "name", "name"),
    (6, "ferry", "home", "ref"),
    (7, "ferry", "capacity", "number"),
    (8, "ferry", "speed", "quantity"),
)
SITES = (
    (1, "authority", "ports.isles.example", "Port Authority of the Isles", "official", 1.0, 0),
    (2, "gazette", "gazette.isles.test", "The Isles Gazette", "news", 0.95, 30),
    (3, "wiki", "wiki.isles.example", "Isles Wiki", "reference", 0.9, 0),
)
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]


class _Page:
    """A page under way: text that notes where it states which fact."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.statements: list[tuple[int, int, int, int, int | None]] = []

    def say(self, *parts: str | tuple[int, int, object]) -> _Page:
        """Add text, or (attribute, entity, words) for what is stated."""
        for part in parts:
            if isinstance(part, tuple):
                attribute, entity, words = part
                start = sum(map(len, self.parts))
                self.statements.append((attribute, entity, start, len(str(words)), None))
                self.parts.append(str(words))
            else:
                self.parts.append(part)
        return self

    @property
    def body(self) -> str:
        """The page as it reads."""
        return "".join(self.parts)


def slug(name: str) -> str:
    """The last part of a page's URL."""
    return name.lower().replace(" ", "-")


def spoken(date: str) -> str:
    """A date in words."""
    year, month, day = date.split("-")
    return f"{int(day)} {_MONTHS[int(month) - 1]} {year}"


def pages_of(connection: sqlite3.Connection) -> list[tuple[int, str, str, str, str, _Page]]:
    """(site, url, title, kind, date, page) of every page, told from the facts in the database."""
    ports = connection.execute("select id, name, harbourmaster, opened, berths from port order by id").fetchall()
    ferries = connection.execute("select id, name, home, capacity, speed from ferry order by id").fetchall()
    home = {port[0]: port for port in ports}
    found: list[tuple[int, str, str, str, str, _Page]] = []
    listed = _Page().say("# Ports of the Isles\n\nThe register lists every harbour that the authority keeps.\n\n")
    for number, name, *_ in ports:
        listed.say("- [", (1, number, name), f"](/ports/{slug(name)})\n")
    found.append((1, "https://ports.isles.example/ports", "Ports of the Isles", "list", "2130-01-10", listed))
    for number, name, master, opened, berths in ports:
        page = _Page().say("# ", (1, number, name), "\n\nThe harbour of ", (1, number, name), " was opened on ")
        page.say((3, number, spoken(opened)), ". It has ", (4, number, berths), " berths. The harbourmaster is ")
        page.say((2, number, master), ".\n\nSee [all ports](/ports) for the others.\n")
        found.append(
            (
                1,
                f"https://ports.isles.example/ports/{slug(name)}",
                f"{name} - Port Authority",
                "sheet",
                "2130-03-01",
                page,
            )
        )
        news = _Page().say("# Quiet season at ", (1, number, name), "\n\nTraffic stays calm this season. ")
        news.say(
            (2, number, master), " speaks of steady work at the ", (4, number, berths), " berths of the harbour.\n"
        )
        found.append(
            (
                2,
                f"https://gazette.isles.test/season/{slug(name)}",
                f"Quiet season at {name}",
                "news",
                "2130-04-02",
                news,
            )
        )
    for number, name, port, capacity, speed in ferries:
        page = _Page().say(
            "# ", (5, number, name), "\n\n| fact | value |\n|---|---|\n| home port | ", (6, number, home[port][1])
        )
        page.say(
            " |\n| passengers | ",
            (7, number, f"{capacity:,}"),
            " |\n| speed | ",
            (8, number, f"{speed:g} knots"),
            " |\n",
        )
        page.say(
            "\nThe ferry sails from [",
            (6, number, home[port][1]),
            f"](https://wiki.isles.example/{slug(home[port][1])}).\n",
        )
        found.append((3, f"https://wiki.isles.example/{slug(name)}", f"{name} (ferry)", "article", "2129-11-20", page))
    return found


def render(connection: sqlite3.Connection, *, seed: int) -> None:
    """Write pages, statements and links from the facts."""
    ids: dict[str, int] = {}
    bodies: dict[int, str] = {}
    for number, (site, url, title, kind, date, page) in enumerate(pages_of(connection), 1):
        ids[url], bodies[number] = number, page.body
        row = (number, site, url, title, kind, date, None, None, page.body, None, None, None)
        connection.execute(f"insert into _pages values ({','.join('?' * len(row))})", row)
        state(connection, number, page.statements)
    targets: dict[int, list[int]] = {}
    for number, body in bodies.items():
        for url, target in ids.items():
            if target != number and (
                f"({url})" in body or f"({url.removeprefix('https://ports.isles.example')})" in body
            ):
                targets.setdefault(number, []).append(target)
    connection.executemany(
        "insert into _targets values (?, ?)", [(page, str(found)) for page, found in targets.items()]
    )


def state(connection: sqlite3.Connection, page: int, stated: Iterable[tuple[int, int, int, int, int | None]]) -> None:
    """Record what a page states: attribute, entity, start, length and claim."""
    sql = "select a.id, t.position from _attributes a join _types t on t.name = a.type"
    types = dict(connection.execute(sql).fetchall())
    found = {StatementRow(types[one[0]], one[1], one[0], *one[2:]) for one in stated}
    connection.executemany("insert into _mentions values (?, ?, ?, ?, ?)", mentions(page, found))


def fill(connection: sqlite3.Connection) -> None:
    """The facts, and what the file says of them."""
    connection.executescript(TABLES + FACTS)
    connection.executemany("insert into port values (?, ?, ?, ?, ?)", PORTS)
    connection.executemany("insert into ferry values (?, ?, ?, ?, ?)", FERRIES)
    connection.executemany("insert into _sites values (?, ?, ?, ?, ?, ?, ?)", SITES)
    connection.executemany(
        "insert into _types values (?, 'entity', ?, ?)", [("port", "ports", 1), ("ferry", "ferries", 2)]
    )
    connection.executemany(
        "insert into _attributes (id, type, name, kind, label) values (?, ?, ?, ?, ?)",
        [(number, kind, name, form, name) for number, kind, name, form in ATTRIBUTES],
    )


def write_small_web(path: Path) -> Path:
    """Write the small world to a file; returns the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = open_database(path, autocommit=True)
    connection.execute("pragma synchronous=off")
    fill(connection)
    render(connection, seed=0)
    connection.execute("insert into _index (rowid, title, body) select id, title, body from _pages")
    _finish(connection)
    return path


def write_pages(
    path: Path, pages: Iterable[tuple[str, str]], *, order: Sequence[int] | None = None, merge: bool = False
) -> Path:
    """A world file without facts: pages of (title, body), indexed in an order (of their ids, from 1) and merged afterwards if wanted."""
    connection = open_database(path, autocommit=True)
    connection.execute("pragma synchronous=off")
    connection.executescript(TABLES)
    connection.executemany("insert into _sites values (?, ?, ?, ?, ?, ?, ?)", SITES)
    rows = [
        (
            number,
            number % 3 + 1,
            f"https://{SITES[number % 3][2]}/p/{number}",
            title,
            "article",
            "2130-01-01",
            None,
            None,
            body,
            None,
            None,
            None,
        )
        for number, (title, body) in enumerate(pages, 1)
    ]
    connection.executemany(f"insert into _pages values ({','.join('?' * 12)})", rows)
    by_id = {row[0]: row for row in rows}
    for number in order or list(by_id):
        # One transaction each, so that the index has many segments.
        connection.execute(
            "insert into _index (rowid, title, body) values (?, ?, ?)", (number, by_id[number][3], by_id[number][8])
        )
    if merge:
        connection.execute("insert into _index (_index) values ('optimize')")
    _finish(connection)
    return path


def _finish(connection: sqlite3.Connection) -> None:
    pages = connection.execute("select count(*) from _pages").fetchone()[0]
    facts = {"format": FORMAT, "complete": "yes", "pages": str(pages), "seed": "0", "world": "isles", "identity": "1"}
    connection.executemany("insert into _meta values (?, ?)", list(facts.items()))
    connection.executescript(INDEXES)
    connection.close()


@dataclass(frozen=True)
class SmallSource:
    """The source of the small world, as a YAML file of kind `search` would be one."""

    path: Path
    view: View = field(default_factory=View)
    name: str = "small_web"
    title: str = "The Isles"
    kind: str = "search"
    digest: str = "small-web-1"
    description: str = "Ports and ferries of the Isles."
    seed: int = 7
    start: float = instant("2130-05-01T08:00:00Z")
    per_step: float = 20.0

    @property
    def document(self) -> Document:
        """The file that it stands for."""
        return Document(self.path.with_suffix(".yaml"), {"kind": "search", "name": self.name}, {})

    def render(self, connection: sqlite3.Connection, *, seed: int) -> None:
        """Write the pages anew."""
        render(connection, seed=seed)

    def configured(self, document: Document, knobs: JsonObject, place: Place) -> SmallSource:
        """The same world, met otherwise."""
        return replace(self, view=self.view.configured(document, knobs, place))

    def build(self, variant: Variant = Variant()) -> SearchWorld:  # noqa: B008
        """The world in the file."""
        return SearchWorld(self, self.path, variant)


def small_world(folder: Path, **knobs: object) -> SearchWorld:
    """The small world in a folder, met with these knobs."""
    path = folder / "small_web.world"
    return SmallSource(path if path.is_file() else write_small_web(path), View.model_validate(knobs)).build()
