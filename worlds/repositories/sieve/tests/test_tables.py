import pytest

from sieve import QueryError, Table


@pytest.fixture
def table():
    found = Table("people", {"id": int, "Name": str, "score": float}, key="id")
    found.index("name")
    found.index("score", ordered=True)
    found.insert({"id": 1, "name": "Ann", "score": 1.5})
    found.insert({"id": 2, "NAME": "Bo"})
    return found


def test_rows_have_numbers(table):
    assert table.rows == {0: (1, "Ann", 1.5), 1: (2, "Bo", None)}
    assert table.insert({"id": 3, "score": 4}) == 2
    assert table.rows[2] == (3, None, 4.0)
    table.delete(2)
    assert table.insert({"id": 3}) == 3


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"id": "x"}, "people.id takes int, not 'x'"),
        ({"id": True}, "people.id takes int, not True"),
        ({"id": 5, "name": 5}, "people.name takes str, not 5"),
        ({"id": 5, "age": 5}, "people has no column 'age'"),
        ({"id": 1}, "id 1 is there already"),
    ],
)
def test_rows_that_do_not_fit_are_refused(table, values, message):
    version = table.version
    with pytest.raises(QueryError, match=message):
        table.insert(values)
    assert (len(table.rows), table.version) == (2, version)
    assert len(table.hashes["id"]) == 2


def test_rows_are_changed(table):
    table.update(0, {"name": "Zoe", "score": 9})
    assert table.rows[0] == (1, "Zoe", 9.0)
    assert table.hashes["name"].find("Ann") == []
    assert table.hashes["name"].find("Zoe") == [0]
    assert table.sorted["score"].between(low=9) == [0]
    table.update(0, {"id": 1})
    with pytest.raises(QueryError, match="id 2 is there already"):
        table.update(0, {"id": 2})
    assert table.rows[0][0] == 1


def test_rows_are_removed(table):
    table.delete(0)
    assert list(table.rows) == [1]
    assert table.hashes["id"].find(1) == []
    with pytest.raises(QueryError, match="people has no row 0"):
        table.delete(0)
    with pytest.raises(QueryError, match="people has no row 0"):
        table.update(0, {})


def test_each_change_makes_a_version(table):
    before = table.version
    table.insert({"id": 9})
    table.update(0, {"score": 1})
    table.delete(1)
    assert table.version == before + 3


def test_an_index_knows_earlier_rows(table):
    table.index("score")
    assert table.hashes["score"].find(1.5) == [0]
    with pytest.raises(QueryError, match="no column"):
        table.index("age")


def test_columns_are_checked():
    with pytest.raises(QueryError, match="has a column twice"):
        Table("t", {"a": int, "A": int})
    with pytest.raises(QueryError, match="is no kind of column"):
        Table("t", {"a": list})


def test_rows_are_chosen_by_a_function(table):
    assert table.matching(lambda row: row["name"] == "Bo") == [1]
    assert table.matching(lambda row: row["score"] is None) == [1]
