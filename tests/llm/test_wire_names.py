"""Names on the wire: allowed, different from each other, and the same every time."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from simtrain.llm.tool_names import wire_names

ALLOWED = re.compile(r"[A-Za-z0-9_-]{1,64}")


@given(st.lists(st.text(alphabet="ab._-é ", max_size=70)))
def test_any_names_become_allowed_and_different_ones(names: list[str]) -> None:
    found = wire_names(names)
    assert list(found) == list(dict.fromkeys(names))
    assert all(ALLOWED.fullmatch(wire) for wire in found.values())
    assert len(set(found.values())) == len(found)
    assert wire_names(names) == found


def test_an_allowed_name_stays_as_it_is_even_when_another_comes_first() -> None:
    found = wire_names(["orders.search", "orders_search"])
    assert found["orders_search"] == "orders_search"
    assert found["orders.search"].startswith("orders_search_")


def test_a_dotted_name_is_readable_on_the_wire() -> None:
    assert wire_names(["payments.refund"]) == {"payments.refund": "payments_refund"}
