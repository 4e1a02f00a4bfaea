import pytest

from sieve import Database, QueryError


@pytest.fixture
def db():
    found = Database(kept=2)
    found.create("t", {"id": int, "name": str}, key="id")
    found.insert("t", [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}])
    return found


def test_tables_have_names(db):
    assert db.table("T") is db.table("t")
    with pytest.raises(QueryError, match="there is a table 'T' already"):
        db.create("T", {"x": int})
    with pytest.raises(QueryError, match="there is no table 'u'"):
        db.table("u")


def test_rows_are_added_all_or_none(db):
    assert db.insert("t", [{"id": 3}, {"id": 4}]) == 2
    with pytest.raises(QueryError, match="id 1 is there already"):
        db.insert("t", [{"id": 5}, {"id": 1}])
    assert db.value("select count(*) from t") == 4
    assert db.insert("t", [{"id": 5}]) == 1


def test_rows_are_changed_and_removed(db):
    assert db.update("t", {"name": "z"}, lambda row: row["id"] == 2) == 1
    assert db.query("select name from t where id = 2") == [{"name": "z"}]
    assert db.delete("t", lambda row: row["name"] == "a") == 1
    assert db.value("select count(*) from t") == 1
    assert db.delete("t", lambda row: False) == 0


def test_parameters_are_counted(db):
    assert db.value("select name from t where id = ?", [2]) == "b"
    with pytest.raises(QueryError, match="the query has 1 parameters, 0 were given"):
        db.query("select name from t where id = ?")
    with pytest.raises(QueryError, match="the query has 0 parameters, 1 were given"):
        db.query("select name from t", [1])


def test_a_value_is_that_of_the_first_row(db):
    assert db.value("select id, name from t order by id desc") == 2
    assert db.value("select id from t where id > 5") is None


def test_answers_are_kept(db):
    for _ in range(3):
        assert db.value("select count(*) from t") == 2
    assert db.hits == 2


def test_answers_are_not_outdated(db):
    query = "select count(*) from t where name = 'a'"
    assert db.value(query) == 1
    db.insert("t", [{"id": 3, "name": "a"}])
    assert db.value(query) == 2
    db.update("t", {"name": "b"}, lambda row: row["id"] == 1)
    assert db.value(query) == 1
    db.delete("t", lambda row: row["id"] == 3)
    assert db.value(query) == 0
    assert db.hits == 0


def test_answers_of_a_join_follow_both_tables(db):
    db.create("u", {"id": int})
    query = "select count(*) from t join u on u.id = t.id"
    assert db.value(query) == 0
    db.insert("u", [{"id": 1}])
    assert db.value(query) == 1
    db.delete("t", lambda row: row["id"] == 1)
    assert db.value(query) == 0


def test_answers_of_another_table_of_the_name_are_forgotten(db):
    assert db.value("select count(*) from t") == 2
    db.drop("t")
    db.create("t", {"id": int})
    assert db.value("select count(*) from t") == 0
    with pytest.raises(QueryError, match="there is no table 'u'"):
        db.drop("u")


def test_answers_differ_by_parameters(db):
    query = "select ? as x, count(*) from t where id >= ?"
    assert db.query(query, [1, 1]) == [{"x": 1, "count": 2}]
    assert db.query(query, [True, 2])[0]["x"] is True
    assert db.query(query, [1, 2]) == [{"x": 1, "count": 1}]
    assert db.hits == 0


def test_the_least_used_answer_is_forgotten(db):
    queries = [f"select {number} from t" for number in range(3)]
    for number in (0, 1, 0, 2, 0, 1):
        db.query(queries[number])
    assert db.hits == 2


def test_answers_belong_to_the_caller(db):
    db.query("select name from t")[0]["name"] = "x"
    db.query("select name from t").clear()
    assert db.query("select name from t") == [{"name": "a"}, {"name": "b"}]
