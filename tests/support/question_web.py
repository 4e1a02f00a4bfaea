"""A search world for tests of questions: stations, sectors, companies, officers and their postings, with pages that tell of them all."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field, replace
from pathlib import Path

from small_web import SmallSource, _Page, slug, spoken, state

from simtrain.values.clock import instant
from simtrain.values.seeding import Stream, derive
from simtrain.values.types import JsonObject
from simtrain.worlds.search.file import FORMAT, INDEXES, TABLES
from simtrain.worlds.search.spec.view import View
from simtrain.worlds.search.world import SearchWorld
from tests.support.databases import open_database

FACTS = """
create table sector (id integer primary key, name text not null unique, opened text, area integer);
create table company (id integer primary key, name text not null unique, founded text, seat integer references sector);
create table station (id integer primary key, name text not null unique, sector integer references sector,
                      operator integer references company, crew integer, opened text, class text, budget integer);
create table officer (id integer primary key, name text not null unique, born text, home integer references sector);
create table posting (id integer primary key, officer integer references officer, station integer references station,
                      since text, until text, rank text);
"""
TYPES = (("sector", "entity", "sectors"), ("company", "entity", "companies"), ("station", "entity", "stations"),
         ("officer", "entity", "officers"), ("posting", "relation", "postings"))  # fmt: skip
ATTRIBUTES = (
    ("sector", "name", "name", None, None, "name"),
    ("sector", "opened", "date", None, None, "opening date"),
    ("sector", "area", "quantity", "km²", None, "area"),
    ("company", "name", "name", None, None, "name"),
    ("company", "founded", "date", None, None, "founding date"),
    ("company", "seat", "ref", None, "sector", "seat"),
    ("station", "name", "name", None, None, "name"),
    ("station", "sector", "ref", None, "sector", "sector"),
    ("station", "operator", "ref", None, "company", "operator"),
    ("station", "crew", "number", None, None, "crew"),
    ("station", "opened", "date", None, None, "opening date"),
    ("station", "class", "category", None, None, "class"),
    ("station", "budget", "money", "crowns", None, "budget"),
    ("officer", "name", "name", None, None, "name"),
    ("officer", "born", "date", None, None, "birth date"),
    ("officer", "home", "ref", None, "sector", "home sector"),
    ("posting", "officer", "ref", None, "officer", "officer"),
    ("posting", "station", "ref", None, "station", "station"),
    ("posting", "since", "date", None, None, "since"),
    ("posting", "until", "date", None, None, "until"),
    ("posting", "rank", "category", None, None, "rank"),
)
WORDS = {
    "type": {"sector": "星区", "company": "公司", "station": "空间站", "officer": "军官", "posting": "任职记录"},
    "label": {
        "sector.opened": "启用日期", "sector.area": "面积", "company.founded": "成立日期", "company.seat": "总部星区",
        "station.sector": "星区", "station.operator": "运营方", "station.crew": "船员人数", "station.opened": "启用日期",
        "station.class": "类别", "station.budget": "预算", "officer.born": "出生日期", "officer.home": "家乡星区",
        "posting.officer": "军官", "posting.station": "空间站", "posting.rank": "军衔",
    },
    "unit": {"km²": "平方千米", "crowns": "克朗"},
    "value": {
        "station.class=relay": "中继", "station.class=dock": "船坞", "station.class=foundry": "铸造", "station.class=observatory": "观测",
        "posting.rank=warden": "典狱长", "posting.rank=captain": "上尉", "posting.rank=steward": "管事",
    },
}  # fmt: skip
SITES = (
    (1, "registry", "registry.reach.example", "Registry of the Reach", "official", 1.0, 0),
    (2, "herald", "herald.reach.test", "The Reach Herald", "news", 0.9, 60),
)
_HEADS = (
    "Vel",
    "Dran",
    "Osk",
    "Mir",
    "Tal",
    "Brun",
    "Quil",
    "Sor",
    "Fen",
    "Har",
    "Jost",
    "Krel",
    "Lum",
    "Nor",
    "Pash",
    "Rud",
)
_TAILS = ("mora", "hollow", "andel", "vastik", "irune", "ottrel", "ekka", "umbar", "yssen", "arvo", "ilden", "ossom")
_CLASSES = ("relay", "dock", "foundry", "observatory")
_RANKS = ("warden", "captain", "steward")


@dataclass(frozen=True)
class QuestionSource(SmallSource):
    """The source of this world."""

    name: str = "reach"
    digest: str = "reach-1"
    start: float = instant("2147-03-02T09:00:00Z")
    view: View = field(default_factory=View)

    def render(self, connection: sqlite3.Connection, *, seed: int) -> None:
        """Write the pages anew."""
        _render(connection)

    def configured(self, document, knobs, place):
        """The same world, met otherwise."""
        return replace(self, view=self.view.configured(document, knobs, place))


def question_source(folder: Path, **knobs: object) -> QuestionSource:
    """The world in a folder, written there at its first use."""
    path = folder / "reach.world"
    if not path.is_file():
        _write(path)
    return QuestionSource(path, View.model_validate(knobs))


def question_world(folder: Path, **knobs: object) -> SearchWorld:
    """The world built."""
    return question_source(folder, **knobs).build()


def _names(count: int, last: str, stream: Stream) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < count:
        parts = [stream.choose(_HEADS) + stream.choose(_TAILS), stream.choose(_HEADS) + stream.choose(_TAILS)]
        found[" ".join((*parts, last) if last else parts)] = None
    return list(found)


def _date(stream: Stream, first: int, last: int) -> str:
    return f"{stream.integer(first, last)}-{stream.integer(1, 12):02}-{stream.integer(1, 28):02}"


def _write(path: Path) -> None:
    connection = open_database(path, autocommit=True)
    connection.executescript(TABLES + FACTS)
    connection.execute("begin")
    stream = Stream(derive(5, "reach"))
    rows: dict[str, list[tuple[object, ...]]] = {
        "sector": [(_date(stream, 2080, 2110), stream.integer(20, 900) * 100) for _ in range(8)],
        "company": [(_date(stream, 2075, 2130), stream.integer(1, 8)) for _ in range(14)],
        "station": [
            (stream.integer(1, 8), stream.integer(1, 14), stream.integer(12, 400), _date(stream, 2095, 2146),
             stream.choose(_CLASSES), stream.integer(30, 9000) * 1000)
            for _ in range(90)
        ],
        "officer": [(_date(stream, 2080, 2125), stream.integer(1, 8)) for _ in range(70)],
    }  # fmt: skip
    for table, last in (("sector", "Sector"), ("company", "Works"), ("station", "Station"), ("officer", "")):
        for number, (name, row) in enumerate(zip(_names(len(rows[table]), last, stream), rows[table], strict=True), 1):
            connection.execute(f"insert into {table} values ({','.join('?' * (len(row) + 2))})", (number, name, *row))
    number = 0
    for officer in range(1, 71):
        for _ in range(stream.integer(1, 3)):
            number += 1
            since = _date(stream, 2126, 2140)
            until = None if stream.random() < 0.5 else _date(stream, 2141, 2146)
            station, rank = stream.integer(1, 90), stream.choose(_RANKS)
            connection.execute(
                "insert into posting values (?, ?, ?, ?, ?, ?)", (number, officer, station, since, until, rank)
            )
    connection.executemany("insert into _sites values (?, ?, ?, ?, ?, ?, ?)", SITES)
    connection.executemany(
        "insert into _types values (?, ?, ?, ?)", [(*kind, place) for place, kind in enumerate(TYPES)]
    )
    connection.executemany(
        "insert into _attributes (type, name, kind, unit, target, label) values (?, ?, ?, ?, ?, ?)", ATTRIBUTES
    )
    words = [("zh", kind, subject, word) for kind, table in WORDS.items() for subject, word in table.items()]
    connection.executemany("insert into _words values (?, ?, ?, ?)", words)
    _render(connection)
    connection.execute("insert into _index (rowid, title, body) select id, title, body from _pages")
    facts: JsonObject = {"format": FORMAT, "complete": "yes", "seed": "5"}
    connection.executemany("insert into _meta values (?, ?)", list(facts.items()))
    connection.execute("commit")
    connection.executescript(INDEXES)
    connection.close()


def _render(connection: sqlite3.Connection) -> None:
    """An article for every entity, a list of stations for every sector, and news that now and then give an old crew."""
    connection.row_factory = sqlite3.Row
    ids = {
        (row["type"], row["name"]): row["id"] for row in connection.execute("select id, type, name from _attributes")
    }
    names = {
        table: {row["id"]: row["name"] for row in connection.execute(f"select id, name from {table}")}
        for table in ("sector", "company", "station", "officer")
    }
    pages: list[tuple[int, str, str, str, str | None, int | None, _Page]] = []
    claims: list[tuple[int, int, int, int]] = []

    def told(table: str, row: sqlite3.Row, name: str) -> tuple[int, int, object]:
        attribute = next(item for item in ATTRIBUTES if item[:2] == (table, name))
        value = row[name]
        if attribute[2] == "ref":
            value = names[attribute[4]][value]
        elif attribute[2] == "date":
            value = spoken(value)
        elif attribute[2] in ("number", "quantity", "money"):
            value = f"{value:,} {attribute[3]}" if attribute[3] else f"{value:,}"
        return ids[table, name], row["id"], value

    for table in ("sector", "company", "station", "officer"):
        for row in connection.execute(f"select * from {table} order by id").fetchall():
            page = _Page().say("# ", told(table, row, "name"), "\n\nThe entry of the registry.\n\n")
            for kind, name, _, _, target, label in ATTRIBUTES:
                if kind == table and name != "name":
                    linked = (
                        (told(table, row, name),)
                        if target is None
                        else ("[", told(table, row, name), f"](/{target}/{slug(names[target][row[name]])})")
                    )
                    page.say(f"- {label.capitalize()}: ", *linked, "\n")
            if table == "officer":
                page.say("\n## Postings\n\n")
                for post in connection.execute("select * from posting where officer = ? order by since", (row["id"],)):
                    page.say("- ", told("posting", post, "station"), " as ", told("posting", post, "rank"), " of ")
                    page.say(told("posting", post, "officer"), ", from ", told("posting", post, "since"))
                    page.say(*((" to ", told("posting", post, "until")) if post["until"] else (" until today",)), "\n")
            if table == "sector":
                page.say("\n## Stations\n\n")
                for station in connection.execute("select * from station where sector = ? order by name", (row["id"],)):
                    page.say(
                        "- [",
                        told("station", station, "name"),
                        f"](/station/{slug(station['name'])}) (",
                    )
                    page.say(told("station", station, "sector"), ")\n")
            url = f"https://registry.reach.example/{table}/{slug(row['name'])}"
            pages.append((1, url, str(row["name"]), "article", table, row["id"], page))
    for table, _, plural in TYPES[:4]:
        page = _Page().say(f"# Index of {plural}\n\nAll that the registry has on its books.\n\n")
        for row in connection.execute(f"select * from {table} order by name").fetchall():
            page.say("- [", told(table, row, "name"), f"](/{table}/{slug(row['name'])})\n")
        pages.append((1, f"https://registry.reach.example/{plural}", f"Index of {plural}", "list", None, None, page))
    for row in connection.execute("select * from station where id % 3 = 0 order by id").fetchall():
        page = _Page().say("# A visit to ", told("station", row, "name"), "\n\nVisitors count a crew of ")
        if row["id"] % 2:
            page.say(told("station", row, "crew"))
        else:
            start = len(page.body)
            old = row["crew"] * 2
            page.say(f"{old:,}")
            claims.append((len(claims) + 1, ids["station", "crew"], row["id"], old))
            page.statements.append((ids["station", "crew"], row["id"], start, len(f"{old:,}"), len(claims)))
        page.say(" there.\n")
        url = f"https://herald.reach.test/visit/{slug(row['name'])}"
        pages.append((2, url, f"A visit to {row['name']}", "news", "station", row["id"], page))
    for number, (site, url, title, kind, table, entity, page) in enumerate(pages, 1):
        row = (
            number,
            site,
            url,
            title,
            kind,
            "2146-11-20",
            table,
            entity,
            page.body,
            None,
            None,
            None,
        )
        connection.execute(f"insert into _pages values ({','.join('?' * len(row))})", row)
        state(connection, number, page.statements)
    connection.executemany("insert into _claims values (?, ?, ?, ?, 'outdated', 2, null, null)", claims)
    connection.row_factory = None
