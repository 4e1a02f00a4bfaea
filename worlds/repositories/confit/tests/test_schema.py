import pytest

from confit import ConfitError, Schema

SERVER = Schema(
    "table",
    keys={
        "host": Schema("text", least=1),
        "port": Schema("number", least=1, most=65_535, default=443),
        "mode": Schema("text", choices=("fast", "safe"), default="safe"),
        "tags": Schema("list", items=Schema("text"), most=3, optional=True),
        "limits": Schema("table", keys={"memory": Schema("number", default=1024)}),
    },
)


def test_defaults_are_filled_in():
    assert SERVER.check({"host": "a"}) == {
        "host": "a",
        "port": 443,
        "mode": "safe",
        "limits": {"memory": 1024},
    }
    assert SERVER.check({"host": "a", "port": 1, "limits": {"memory": 5}})["limits"] == {
        "memory": 5
    }


def test_what_was_given_is_not_changed():
    given = {"host": "a", "limits": {}}
    SERVER.check(given)
    assert given == {"host": "a", "limits": {}}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"host": 5}, "host is a number, not a text"),
        ({"host": ""}, "the length of host is 0, less than 1"),
        ({"port": 0}, "port is 0, less than 1"),
        ({"port": 65_536}, "port is 65536, more than 65535"),
        ({"port": True}, "port is a switch, not a number"),
        ({"mode": "slow"}, "mode is 'slow', not one of fast, safe"),
        ({"tags": ["a", 2]}, "tags[1] is a number, not a text"),
        ({"tags": list("abcd")}, "the length of tags is 4, more than 3"),
        ({"limits": 5}, "limits is a number, not a table"),
        ({"limits": {"memory": "x"}}, "limits.memory is a text, not a number"),
        ({"prot": 1}, "prot is unknown, did you mean 'port'?"),
        ({"limits": {"zzz": 1}}, "limits.zzz is unknown"),
    ],
)
def test_problems_name_their_place(change, problem):
    assert SERVER.problems(SERVER.filled({"host": "a"} | change)) == [problem]


def test_borders_belong_to_the_range():
    assert SERVER.problems(SERVER.filled({"host": "a", "port": 1})) == []
    assert SERVER.problems(SERVER.filled({"host": "a", "port": 65_535})) == []
    assert SERVER.problems(SERVER.filled({"host": "a", "tags": ["a", "b", "c"]})) == []


def test_what_is_required_must_be_there():
    assert SERVER.problems(SERVER.filled({})) == ["the configuration has no 'host'"]
    inner = Schema("table", keys={"t": Schema("table", keys={"x": Schema("any")})})
    assert inner.problems({"t": {}}) == ["t has no 'x'"]


def test_the_first_problem_is_raised_and_the_others_counted():
    with pytest.raises(ConfitError) as raised:
        SERVER.check({"host": 1, "port": 0, "mode": "x"})
    assert str(raised.value) == "host is a number, not a text (and 2 more)"
    with pytest.raises(ConfitError, match="^port is 0, less than 1$"):
        SERVER.check({"host": "a", "port": 0})


def test_an_open_table_takes_other_keys():
    assert Schema("table", keys={"a": Schema(optional=True)}, open=True).problems({"b": 1}) == []
    assert Schema("table").problems({"b": 1}) == []
    assert Schema().problems([1, None]) == []
