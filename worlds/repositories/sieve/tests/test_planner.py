import pytest

from sieve import Database


@pytest.fixture
def db():
    found = Database()
    table = found.create("t", {"id": int, "town": str, "born": int, "x": int}, key="id")
    table.index("town")
    table.index("born", ordered=True)
    rows = [(1, "Bern", 1990), (2, "Genf", 1980), (3, "Bern", 1970), (4, None, None)]
    found.insert("t", [dict(zip(("id", "town", "born"), row, strict=True)) for row in rows])
    return found


@pytest.mark.parametrize(
    ("where", "how", "ids"),
    [
        ("id = 2", "t by id", [2]),
        ("2 = id", "t by id", [2]),
        ("town = 'Bern'", "t by town", [1, 3]),
        ("town = 'Bern' and id = 3", "t by id", [3]),
        ("town = 'Bern' and x is null", "t by town", [1, 3]),
        ("born > 1980", "t in order of born", [1]),
        ("born >= 1980", "t in order of born", [1, 2]),
        ("born < 1980", "t in order of born", [3]),
        ("1980 >= born", "t in order of born", [2, 3]),
        ("born = 1980", "t in order of born", [2]),
        ("born between 1970 and 1980", "t in order of born", [2, 3]),
        ("id in (3, 1, 9)", "t by id", [1, 3]),
        ("id = null", "nothing: id = null", []),
        ("id = 2 or x = 1", "all rows of t", [2]),
        ("id <> 2", "all rows of t", [1, 3, 4]),
        ("id not in (1, 2)", "all rows of t", [3, 4]),
        ("id in (1, x)", "all rows of t", [1]),
        ("born not between 1980 and 1990", "all rows of t", [3]),
        ("id + 1 = 3", "all rows of t", [2]),
    ],
)
def test_an_index_is_used_where_it_helps(db, where, how, ids):
    query = f"select id from t where {where}"
    assert db.explain(query) == [how]
    assert [row["id"] for row in db.query(query)] == ids


def test_parameters_count_as_values(db):
    assert db.explain("select * from t where id = ?", [3]) == ["t by id"]
    assert db.query("select id from t where id = ?", [3]) == [{"id": 3}]


def test_joins_use_an_index(db):
    query = "select a.id as a, b.id as b from t a join t b on b.town = a.town and b.id > a.id"
    assert db.explain(query) == ["all rows of t", "t by town"]
    assert db.query(query) == [{"a": 1, "b": 3}]
    assert db.explain("select 1 from t a join t b on b.x = a.id") == ["all rows of t"] * 2


def test_names_without_a_table_use_no_index_in_joins(db):
    db.create("u", {"town_name": str})
    db.insert("u", [{"town_name": "Bern"}])
    query = "select id from t join u on t.town = u.town_name where {} order by id"
    assert db.explain(query.format("t.id = 3"))[0] == "t by id"
    assert db.explain(query.format("id = 3"))[0] == "all rows of t"
    assert db.query(query.format("id = 3")) == [{"id": 3}]


def test_without_tables_there_is_nothing_to_read(db):
    assert db.explain("select 1") == []
