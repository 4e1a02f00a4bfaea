"""Figures of a built world: rows, pages, statements, links, bytes."""

import sqlite3
from pathlib import Path

from simtrain.values.types import JsonObject
from simtrain.worlds.search.file import WORDS


def figures(connection: sqlite3.Connection, path: Path) -> JsonObject:
    """Return rows by type, pages by site and kind, and averages per page of words, statements and links; sizes in bytes."""

    def one(sql: str) -> float:
        return connection.execute(sql).fetchone()[0] or 0

    pages = int(one("select count(*) from _pages"))
    types = {
        name: {"kind": kind, "rows": int(one(f'select count(*) from "{name}"')), "attributes": count}
        for name, kind, count in connection.execute(
            "select t.name, t.kind, (select count(*) from _attributes where type = t.name) from _types t order by position"
        ).fetchall()
    }
    sites = connection.execute(
        f"select s.name, s.domain, s.kind, s.reliability, s.lag_days, count(p.id), coalesce(avg({WORDS}), 0)"
        " from _sites s left join _pages p on p.site = s.id group by s.id order by s.id"
    ).fetchall()
    names = ("name", "domain", "kind", "reliability", "lag_days", "pages", "words")
    kinds = connection.execute(
        "select kind, count(*) from _pages group by kind order by count(*) desc, kind"
    ).fetchall()
    reasons = connection.execute(
        "select substr(reason, 1, instr(reason, ':') - 1), count(*) from _claims group by 1 order by 1"
    ).fetchall()
    size = path.stat().st_size
    return {
        "pages": pages,
        "types": types,
        "sites": [{**dict(zip(names, row, strict=True)), "words": round(row[6], 1)} for row in sites],
        "kinds": dict(kinds),
        "words_a_page": round(one(f"select avg({WORDS}) from _pages"), 1),
        "statements_a_page": round(one("select count(*) from _statements") / pages, 1),
        "facts_a_page": round(
            one("select count(*) from (select distinct page, attribute, entity from _statements)") / pages, 1
        ),
        "links_a_page": round(one("select count(*) from _links") / pages, 1),
        "aliases": int(one("select count(*) from _aliases")),
        "claims": dict(reasons),
        "false_statements": int(one("select count(*) from _statements where claim is not null")),
        "bytes": size,
        "bytes_a_page": round(size / pages),
    }
