"""How many rows a list has in all: counted once, and again after whatever may have changed it."""

from __future__ import annotations

import pytest

from simtrain.worlds.service.database import MOST_COUNTS, Database, Mode
from tests.support.databases import open_database

ALL = "select a from t"


@pytest.fixture
def database() -> Database:
    found = Database(moment="2031-03-03T09:00:20Z")
    found.run("create table t (a)", mode=Mode.SCHEMA)
    found.run("insert into t values (1)", mode=Mode.WRITE)
    return found


def test_rows_are_counted_again_after_a_write_and_after_what_undoes_it(database: Database) -> None:
    assert database.count(ALL, {}) == 1
    database.run("insert into t values (2)", mode=Mode.WRITE)
    assert database.count(ALL, {}) == 2
    with database.savepoint("trial", keep=False):
        database.run("insert into t values (3)", mode=Mode.WRITE)
        assert database.view().count(ALL, {}) == 3
    assert database.count(ALL, {}) == 2
    with pytest.raises(ValueError), database.savepoint("call", keep=True):
        database.run("delete from t", mode=Mode.WRITE)
        assert database.count(ALL, {}) == 0
        raise ValueError
    assert database.count(ALL, {}) == 2


def test_a_count_that_depends_on_the_time_follows_it(database: Database) -> None:
    for told in ("datetime('now') < '2031-03-04'", "current_date < '2031-03-04'", "current_timestamp < '2031-03-04'"):
        sql = f"select a from t where {told}"
        database.moment = "2031-03-03T09:00:20Z"
        assert database.count(sql, {}) == 1
        database.moment = "2031-03-05T09:00:20Z"
        assert database.count(sql, {}) == 0


def test_values_of_other_types_are_counted_apart(database: Database) -> None:
    sql = "select a from t where typeof(:x) = 'integer'"
    assert [database.count(sql, {"x": value}) for value in (1, "1", 1.0, None, 1)] == [1, 0, 0, 0, 1]


def test_the_same_count_is_asked_for_once_and_old_ones_are_forgotten() -> None:
    connection = open_database(autocommit=True)
    database = Database(connection=connection)
    database.run("create table t (a)", mode=Mode.SCHEMA)
    asked: list[str] = []
    connection.set_trace_callback(asked.append)
    sql = "select a from t where a > :least"
    assert [database.count(sql, {"least": 1}) for _ in range(3)] == [0, 0, 0] and len(asked) == 1
    for least in range(1, MOST_COUNTS + 2):
        database.count(sql, {"least": least})
    asked.clear()
    database.count(sql, {"least": 2})
    assert asked == []
    database.count(sql, {"least": 1})
    assert len(asked) == 1
