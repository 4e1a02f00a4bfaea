"""How the words of refusals are learnt, and how a comparison finds those that mislead."""

from __future__ import annotations

import pytest
from refusing import BadCall, misnamed

EVERY = {"path", "query", "limit"}


@pytest.mark.parametrize(
    ("found", "wrong"),
    [
        ("Missing parameter: path", {"path"}),
        ("Missing parameter: query", set[str]()),
        ("Missing parameter: query, limit", {"limit"}),
        ("search: query is required", set[str]()),
    ],
)
def test_a_refusal_that_names_another_parameter_is_found(found: str, wrong: set[str]) -> None:
    call = BadCall("search", {}, frozenset({"query"}))
    assert misnamed(found, "query is required", call, EVERY) == wrong
