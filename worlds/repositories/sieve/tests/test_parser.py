import pytest

from sieve import QueryError, parse
from sieve.nodes import Between, Binary, Call, Case, Column, Literal, Parameter, Unary, Within


def shape(node):
    """An expression as nested tuples."""
    if isinstance(node, Literal):
        return node.value
    if isinstance(node, Parameter):
        return f"?{node.number}"
    if isinstance(node, Column):
        return f"{node.table}.{node.name}" if node.table else node.name
    if isinstance(node, Unary):
        return (node.sign, shape(node.operand))
    if isinstance(node, Binary):
        return (shape(node.left), node.sign, shape(node.right))
    if isinstance(node, Within):
        return (shape(node.value), "not in" if node.negated else "in", *map(shape, node.items))
    if isinstance(node, Between):
        name = "not between" if node.negated else "between"
        return (shape(node.value), name, shape(node.low), shape(node.high))
    if isinstance(node, Call):
        return (
            (node.name, "*")
            if node.star
            else (node.name, node.distinct, *map(shape, node.arguments))
        )
    assert isinstance(node, Case)
    branches = [(shape(condition), shape(value)) for condition, value in node.branches]
    return ("case", *branches, shape(node.otherwise) if node.otherwise else None)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("1 + 2 * 3", (1, "+", (2, "*", 3))),
        ("1 - 2 - 3", ((1, "-", 2), "-", 3)),
        ("(1 + 2) * 3", ((1, "+", 2), "*", 3)),
        ("-a * 2", (("-", "a"), "*", 2)),
        ("a || 'x' || b", (("a", "||", "x"), "||", "b")),
        ("a = 1 or b = 2 and c", (("a", "=", 1), "or", (("b", "=", 2), "and", "c"))),
        ("not a = 1 and b", (("not", ("a", "=", 1)), "and", "b")),
        ("t.a is null", ("is null", "t.a")),
        ("a is not null", ("is not null", "a")),
        ("a in (1, ?)", ("a", "in", 1, "?0")),
        ("a not in (1)", ("a", "not in", 1)),
        ("a between 1 and 2 and b", (("a", "between", 1, 2), "and", "b")),
        ("a not between 1 and ?", ("a", "not between", 1, "?0")),
        ("a like 'x%'", ("a", "like", "x%")),
        ("a not like ?", ("not", ("a", "like", "?0"))),
        ("Count(*)", ("count", "*")),
        ("count(distinct a)", ("count", True, "a")),
        ("round(a, 2)", ("round", False, "a", 2)),
        ("case when a then 1 when b then 2 else 3 end", ("case", ("a", 1), ("b", 2), 3)),
        ("case when true then null end", ("case", (True, None), None)),
        ("? + ?", ("?0", "+", "?1")),
    ],
)
def test_expressions(text, tree):
    assert shape(parse(f"select {text}").items[0].expression) == tree


def test_columns_have_names():
    found = parse("select a, t.b, count(*), a + 1, a as c, a d, *, t.* from t")
    assert [item.name for item in found.items] == [
        "a",
        "b",
        "count",
        "column_25",
        "c",
        "d",
        "*",
        "*",
    ]
    assert [item.table for item in found.items][-2:] == [None, "t"]


def test_tables_are_joined():
    found = parse("select 1 from a join b on x left join c as d on y inner join e f on z").sources
    assert [(one.table, one.alias, one.left) for one in found] == [
        ("a", "a", False),
        ("b", "b", False),
        ("c", "d", True),
        ("e", "f", False),
    ]


def test_all_parts_of_a_query():
    found = parse(
        "select distinct a from t where b group by c, d having e order by f desc, g asc, h limit ? offset 2"
    )
    assert found.distinct
    assert (len(found.groups), shape(found.where), shape(found.having)) == (2, "b", "e")
    assert [(shape(one.expression), one.descending) for one in found.orders] == [
        ("f", True),
        ("g", False),
        ("h", False),
    ]
    assert (shape(found.limit), shape(found.offset), found.parameters) == ("?0", 2, 1)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "the end where select was expected, at 0"),
        ("select", "the end where a value was expected, at 6"),
        ("select a from", "the end where a name was expected, at 13"),
        ("select a from t where", "the end where a value was expected"),
        ("select a from t join u", "the end where on was expected"),
        ("select a b c", "'c' where the end was expected, at 11"),
        ("select a in 1", "'1' where \\( was expected"),
        ("select a not 1", "'1' where in, between or like was expected"),
        ("select a is 1", "'1' where null was expected"),
        ("select (a", "the end where \\) was expected"),
        ("select case end", "'end' where when was expected"),
    ],
)
def test_mistakes_are_named(query, message):
    with pytest.raises(QueryError, match=message):
        parse(query)
