"""Templates of untrusted files: what they can do, and what stops them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simtrain.files.templates import Text, Value, expression
from simtrain.values.errors import InputError

VALUES = {"name": "Ada", "reply": {"items": [{"id": 1, "price": 2.5}, {"id": 2, "price": 4}], "keys": "k"}, "n": 7}


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("{{ n }}", 7),
        ("{{ reply.items[-1].price }}", 4),
        ("{{ reply.items | map(attribute='price') | sum }}", 6.5),
        ("{{ reply.items | selectattr('id', 'equalto', 2) | list }}", [{"id": 2, "price": 4}]),
        ("{{ n > 3 and name == 'Ada' }}", True),
        ("{{ missing is defined }}", False),
        ("{{ none }}", None),
        ("n is {{ n }}", "n is 7"),
        ("{% for item in reply.items %}{{ item.id }};{% endfor %}", "1;2;"),
        ("{{ 2.5 | money }}", "2.50"),
        ("plain", "plain"),
        ([{"a": "{{ n }}"}, 3], [{"a": 7}, 3]),
    ],
)
def test_an_expression_alone_keeps_its_type(source: object, value: object) -> None:
    assert Value(source).evaluate(VALUES) == value


def test_the_names_that_a_template_reads_are_known() -> None:
    assert Value({"a": "{{ x.y[0] }}", "b": "{{ p | default(q) }}"}).names == {"x", "p", "q"}
    assert expression("found.orders").names == {"found"}


@pytest.mark.parametrize(
    "source",
    [
        "{{ name.__class__ }}", "{{ ''.__class__.__mro__ }}", "{{ name.format }}{{ name.format(1) }}", "{{ reply.items.append(1) }}",
        "{{ 'a' * 1000000 }}", "{{ '%1000000000d' % 1 }}", "{{ 10 ** 10 ** 10 }}", "{{ missing }}", "{{ reply.nothing }}", "{{ n.real.x }}",
        "{% for a in reply.items %}{{ nothing }}{% endfor %}", "{{ range(10) }}", "{{ cycler }}", "{{ 1 / 0 }}",
    ],
)  # fmt: skip
def test_what_the_sandbox_refuses_is_one_input_error(source: str) -> None:
    with pytest.raises(InputError):
        Text(source).render(VALUES)


@pytest.mark.parametrize(
    "source",
    [
        "{% set a = 1 %}",
        "{% include 'x' %}",
        "{% import 'x' as y %}",
        "{% macro m() %}{% endmacro %}",
        "{{ x | attr('y') }}",
        "{{ broken",
        "x" * 30_000,
    ],
)
def test_what_a_template_may_not_say_is_refused_when_it_is_read(source: str) -> None:
    with pytest.raises(InputError):
        Text(source)


def test_nested_loops_and_endless_output_are_cut() -> None:
    values = {"many": list(range(2000))}
    with pytest.raises(InputError, match="loop items"):
        Text("{% for a in many %}{% for b in many %}{% endfor %}{% endfor %}").render(values)
    with pytest.raises(InputError, match="characters"):
        Text("{% for a in many %}{{ text }}{% endfor %}").render({**values, "text": "x" * 1000})


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_a_value_given_is_the_value_got(value: object) -> None:
    assert Value("{{ x }}").evaluate({"x": value}) == value


def test_what_does_not_parse_is_said_without_a_file_of_jinjas_own() -> None:
    with pytest.raises(InputError) as raised:
        Text("{{ n|center(3) }}")
    assert str(raised.value) == "the template does not parse: No filter named 'center'."
