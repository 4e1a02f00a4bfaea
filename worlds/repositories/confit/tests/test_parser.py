import pytest

from confit import ConfitError, parse
from confit.nodes import Block, Items, Literal, Operation, Reference, Text


def value(source):
    return dict(parse(f"x = {source}").entries)["x"]


def shape(node):
    """A node as nested tuples, without places."""
    if isinstance(node, Operation):
        return (shape(node.left), node.sign, shape(node.right))
    if isinstance(node, Reference):
        return ".".join(node.path)
    return node.value


def test_an_empty_text_is_an_empty_block():
    assert parse("") == Block(())
    assert parse("\n# nothing\n") == Block(())


def test_words_and_numbers():
    assert [value(word) for word in ("true", "false", "none", "5m")] == [
        *(Literal(True), Literal(False), Literal(None), Literal(300))
    ]


def test_lists_may_end_with_a_comma():
    assert value("[]") == Items(())
    assert value("[1, 2,]") == Items((Literal(1), Literal(2)))
    assert value("[\n1,\n[2]\n]") == Items((Literal(1), Items((Literal(2),))))


@pytest.mark.parametrize(
    ("source", "tree"),
    [
        ("1 + 2 * 3", (1, "+", (2, "*", 3))),
        ("1 * 2 + 3", ((1, "*", 2), "+", 3)),
        ("1 - 2 - 3", ((1, "-", 2), "-", 3)),
        ("8 / 4 * 2", ((8, "/", 4), "*", 2)),
        ("(1 + 2) * 3", ((1, "+", 2), "*", 3)),
        ("a ?? b ?? 1", ("a", "??", ("b", "??", 1))),
        ("a.b ?? 1 + 2", ("a.b", "??", (1, "+", 2))),
        ("-a * 2", ((0, "-", "a"), "*", 2)),
    ],
)
def test_signs_bind_as_in_school(source, tree):
    assert shape(value(source)) == tree


def test_texts_hold_expressions():
    assert value('"plain"') == Text(("plain",))
    assert value('""') == Text(())
    found = value('"a ${b.c} d${1}"')
    assert [shape(part) if not isinstance(part, str) else part for part in found.parts] == [
        *("a ", "b.c", " d", 1)
    ]
    assert value(r'"\${b}"') == Text(("${b}",))


def test_references_in_texts_know_their_place():
    found = dict(parse('a = 1\nx = "12 ${ bc }"').entries)["x"].parts[1]
    assert (found.path, found.line, found.column) == (("bc",), 2, 12)


def test_blocks_of_one_name_are_joined():
    found = parse("a { x = 1 }\nb = 2\na {\n y = 3\n c { z = 1 }\n}\na { c { w = 2 } }")
    names = [name for name, _ in found.entries]
    inner = dict(dict(found.entries)["a"].entries)
    assert names == ["a", "b"]
    assert list(inner) == ["x", "y", "c"]
    assert [name for name, _ in inner["c"].entries] == ["z", "w"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = 1\nx = 2", "line 2, column 1: 'x' is there already"),
        ("a { x = 1 }\na { x = 2 }", "line 2, column 1: a.x is there already"),
        ("a = 1\na { }", "line 2, column 1: 'a' is no block above"),
        ("a { }\na = 1", "line 2, column 1: 'a' is there already"),
        ("x =", "line 1, column 4: the end of the text where a value was expected"),
        ("x 5", "line 1, column 3: '5' where '=' was expected"),
        ("x = 1 y = 2", "line 1, column 7: 'y' where a newline was expected"),
        ("x = [1, 2", "line 1, column 10: the end of the text where ']' was expected"),
        ("x = (1\n", "line 2, column 1: the end of the text where ')' was expected"),
        ("a {\n x = 1\n", "line 3, column 1: the end of the text where '}' was expected"),
        ("}", "line 1, column 1: '}' where a end was expected"),
        ("5 = x", "line 1, column 1: '5' where a name was expected"),
        ("x = a.5", "line 1, column 7: '5' where a name was expected"),
        ("x = 5zz", "line 1, column 5: 'zz' is no unit, in '5zz'"),
        ('x = "${}"', "line 1, column 8: the end of the text where a value was expected"),
        ('x = "${a b}"', "line 1, column 10: 'b' where a end was expected"),
        (r'x = "a\q"', "line 1, column 6: \\q is no escape"),
    ],
)
def test_mistakes_are_named_with_their_place(source, message):
    with pytest.raises(ConfitError) as raised:
        parse(source)
    assert str(raised.value) == message


def test_nesting_has_a_limit():
    parse("x = " + "(" * 50 + "1" + ")" * 50)
    with pytest.raises(ConfitError, match="too deep"):
        parse("x = " + "(" * 100 + "1" + ")" * 100)
