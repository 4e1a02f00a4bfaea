import pytest

from sieve import Database, QueryError

PEOPLE = [
    (1, "Ann", "Bern", 30.0),
    (2, "Bo", "Genf", 20.0),
    (3, "Cy", "Bern", None),
    (4, "Di", None, 20.0),
]
ORDERS = [(10, 1, 5), (11, 1, 7), (12, 2, 3), (13, 9, 1)]


@pytest.fixture
def db():
    found = Database()
    found.create("people", {"id": int, "name": str, "town": str, "score": float}, key="id")
    found.create("orders", {"id": int, "person": int, "amount": int}, key="id")
    for name, rows in (("people", PEOPLE), ("orders", ORDERS)):
        columns = list(found.table(name).columns)
        found.insert(name, [dict(zip(columns, row, strict=True)) for row in rows])
    return found


def rows(db, query, *parameters):
    return [tuple(row.values()) for row in db.query(query, parameters)]


@pytest.mark.parametrize(
    ("query", "result"),
    [
        ("select 1 + 1, 'a' || 'b'", [(2, "ab")]),
        ("select name from people", [("Ann",), ("Bo",), ("Cy",), ("Di",)]),
        ("select NAME from People where ID = 2", [("Bo",)]),
        ("select name from people where town = 'Bern' and score > 10", [("Ann",)]),
        ("select name from people where score > 10 or town is null", [("Ann",), ("Bo",), ("Di",)]),
        ("select name from people where not score > 25", [("Bo",), ("Di",)]),
        ("select name from people where town <> 'Bern'", [("Bo",)]),
        ("select name from people where score in (30, 5)", [("Ann",)]),
        ("select name from people where town not in ('Genf')", [("Ann",), ("Cy",)]),
        ("select name from people where town not in ('Genf', null)", []),
        ("select name from people where id between 2 and 3", [("Bo",), ("Cy",)]),
        ("select name from people where name like '_o'", [("Bo",)]),
        ("select distinct town from people", [("Bern",), ("Genf",), (None,)]),
        ("select coalesce(town, '-') from people where id > 2", [("Bern",), ("-",)]),
        (
            "select case when score >= 30 then 'high' when score > 0 then 'low' end from people",
            [("high",), ("low",), (None,), ("low",)],
        ),
    ],
)
def test_rows_are_selected(db, query, result):
    assert rows(db, query) == result


@pytest.mark.parametrize(
    ("order", "ids"),
    [
        ("score", [3, 2, 4, 1]),
        ("score desc", [1, 2, 4, 3]),
        ("score, id desc", [3, 4, 2, 1]),
        ("town desc, name", [2, 1, 3, 4]),
        ("2 desc", [4, 3, 2, 1]),
        ("n", [1, 2, 3, 4]),
        ("-id", [4, 3, 2, 1]),
    ],
)
def test_rows_are_sorted(db, order, ids):
    assert [row[0] for row in rows(db, f"select id, name as n from people order by {order}")] == ids


@pytest.mark.parametrize(
    ("tail", "ids"),
    [
        ("limit 2", [1, 2]),
        ("limit 2 offset 1", [2, 3]),
        ("limit 0", []),
        ("limit 9 offset 3", [4]),
        ("offset 3", [4]),
    ],
)
def test_rows_are_limited(db, tail, ids):
    assert [row[0] for row in rows(db, f"select id from people {tail}")] == ids


def test_tables_are_joined(db):
    query = "select p.name, o.amount from people p {} orders o on o.person = p.id order by o.id"
    assert rows(db, query.format("join")) == [("Ann", 5), ("Ann", 7), ("Bo", 3)]
    assert rows(db, query.format("left join")) == [
        *(("Cy", None), ("Di", None), ("Ann", 5), ("Ann", 7), ("Bo", 3))
    ]


def test_a_left_join_by_key(db):
    query = "select o.id, p.name from orders o left join people p on p.id = o.person and p.town = 'Bern'"
    assert rows(db, query) == [(10, "Ann"), (11, "Ann"), (12, None), (13, None)]


def test_three_tables(db):
    query = (
        "select a.name, b.name from orders o join people a on a.id = o.person"
        " join people b on b.town = a.town and b.id <> a.id where o.amount > 5"
    )
    assert rows(db, query) == [("Ann", "Cy")]


def test_all_columns(db):
    assert db.query("select * from orders where id = 10") == [{"id": 10, "person": 1, "amount": 5}]
    found = db.query(
        "select o.*, p.id from orders o join people p on p.id = o.person where o.id = 12"
    )
    assert found == [{"id": 12, "person": 2, "amount": 3, "id_2": 2}]


@pytest.mark.parametrize(
    ("query", "result"),
    [
        ("select count(*), count(score), sum(score) from people", [(4, 3, 70.0)]),
        ("select count(*), max(score) from people where id > 9", [(0, None)]),
        ("select town, count(*) from people group by town", [("Bern", 2), ("Genf", 1), (None, 1)]),
        ("select town from people group by town having count(*) > 1", [("Bern",)]),
        (
            "select score, group_concat(name, '+') from people group by score",
            [(30.0, "Ann"), (20.0, "Bo+Di"), (None, "Cy")],
        ),
        ("select person % 2, sum(amount) from orders group by person % 2", [(1, 13), (0, 3)]),
        ("select count(distinct score) + 1 from people", [(3,)]),
        (
            "select town, avg(score) as a from people group by town order by a desc, town",
            [("Bern", 30.0), (None, 20.0), ("Genf", 20.0)],
        ),
        ("select person from orders group by person order by sum(amount) desc limit 1", [(1,)]),
        ("select distinct count(*) from orders group by person", [(2,), (1,)]),
    ],
)
def test_groups(db, query, result):
    assert rows(db, query) == result


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("select x from people", "there is no column 'x', at 7"),
        ("select a.name from people", "there is no table 'a'"),
        ("select people.x from people", "people has no column 'x'"),
        ("select z.* from people", "there is no table 'z'"),
        ("select 1 from nobody", "there is no table 'nobody'"),
        ("select id from people p join orders o on o.person = p.id", "'id' is in several tables"),
        ("select 1 from people join people on true", "'people' is there twice"),
        ("select 1 from people where count(*) > 1", "about groups"),
        ("select sum(count(*)) from people", "about groups"),
        ("select max(*) from people", "max\\(\\*\\) means nothing"),
        ("select nope(1)", "there is no function 'nope'"),
        ("select name from people having name = 'x'", "having without groups"),
        ("select name from people order by 2", "there is no column 2 to sort by"),
        ("select name from people order by x", "there is no column 'x'"),
        ("select name from people where name", "'Ann' is neither true nor false"),
        ("select name from people limit -1", "limit is -1, not a number of rows"),
        ("select name from people limit 'x'", "limit is 'x'"),
    ],
)
def test_what_is_wrong_is_named(db, query, message):
    with pytest.raises(QueryError, match=message):
        db.query(query)


def test_what_is_wrong_is_found_without_rows(db):
    db.delete("people", lambda row: True)
    with pytest.raises(QueryError, match="there is no column 'x'"):
        db.query("select name from people where x = 1")
