import pytest

from confit import ConfitError, evaluate, load, parse


def test_values_are_plain():
    found = load('a = 1\nb { c = "x"\n d = [true, none, 2.5] }')
    assert found == {"a": 1, "b": {"c": "x", "d": [True, None, 2.5]}}
    assert list(found) == ["a", "b"]


def test_references_begin_at_the_outermost_table():
    assert load("a = b.c\nb { c = 2\n d = c ?? 9 }")["b"]["d"] == 9
    assert load("a = b.c\nb { c = 2 }")["a"] == 2
    assert load("a = b\nb { c = 2 }")["a"] == {"c": 2}


def test_references_may_point_forwards():
    assert load("a = b + 1\nb = c + 1\nc = 1")["a"] == 3


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("1 + 2 * 3", 7),
        ("7 - 2 - 1", 4),
        ("7 / 2", 3.5),
        ("8 / 2", 4),
        ("-3 + 1", -2),
        ("1h / 4", 900),
        ("512MiB * 50%", 268_435_456),
        ('"a" + "b"', "ab"),
        ("[1] + [2, 3]", [1, 2, 3]),
    ],
)
def test_arithmetic(source, value):
    found = load(f"x = {source}")["x"]
    assert found == value
    assert type(found) is type(value) or isinstance(found, float)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ('1 + "a"', "number \\+ text means nothing"),
        ("true + 1", "switch \\+ number means nothing"),
        ("[1] * 2", "list \\* number means nothing"),
        ('"a" - "b"', "text - text means nothing"),
        ("1 / 0", "division by zero"),
        ("y", "there is no 'y'"),
        ("y.z", "there is no 'y.z'"),
    ],
)
def test_what_means_nothing_is_refused(source, message):
    with pytest.raises(ConfitError, match=message) as raised:
        load(f"x = {source}")
    assert raised.value.line == 1


def test_an_error_knows_its_column():
    with pytest.raises(ConfitError) as raised:
        load("a = 1\nx = a +  missing")
    assert (raised.value.line, raised.value.column) == (2, 10)


def test_a_default_stands_in_for_what_is_missing_or_none():
    assert load("x = y ?? 5")["x"] == 5
    assert load("x = y.z ?? w ?? 5")["x"] == 5
    assert load("y = none\nx = y ?? 5")["x"] == 5
    assert load("y = 0\nx = y ?? 5")["x"] == 0
    assert load("y = false\nx = y ?? true")["x"] is False


def test_a_default_does_not_hide_other_mistakes():
    with pytest.raises(ConfitError, match="division by zero"):
        load("x = 1 / 0 ?? 5")


def test_texts_show_values():
    source = 'n = 1.5\nl = [1, "a"]\nx = "${n}|${true}|${none}|${l}|${2 + 3}"'
    assert load(source)["x"] == "1.5|true|none|1, a|5"
    with pytest.raises(ConfitError, match="a table cannot stand within a text"):
        load('a { }\nx = "${a}"')


def test_names_may_be_given_from_outside():
    assert load("x = cores * 2", {"cores": 4})["x"] == 8
    assert load("x = env.HOME", {"env": {"HOME": "/root"}})["x"] == "/root"
    assert load("cores = 1\nx = cores", {"cores": 4})["x"] == 1
    assert load("env { A = 1 }\nx = env.B ?? 2", {"env": {"B": 3}})["x"] == 2


def test_values_that_need_each_other_are_named():
    with pytest.raises(ConfitError, match="values need each other: a -> b -> a"):
        load("a = b\nb = a")
    with pytest.raises(ConfitError, match="x.y -> x.y"):
        load("x { y = x.y }")
    with pytest.raises(ConfitError, match="need each other"):
        load("x { y = x }")


def test_a_block_can_be_evaluated_twice():
    block = parse("x = n + 1")
    assert evaluate(block, {"n": 1}) == {"x": 2}
    assert evaluate(block, {"n": 2}) == {"x": 3}
