"""Shipped families for tests that go over all of them: the first of each suite in `make test`, the others in `make test-full`."""

from collections.abc import Iterable

import pytest
from _pytest.mark import ParameterSet


def one_of_each_suite(names: Iterable[str]) -> list[ParameterSet]:
    """Return a parameter for each name; all but the first of each suite are marked `full`."""
    met = set[str]()
    found = list[ParameterSet]()
    for name in sorted(names):
        suite = name.partition("/")[0]
        found.append(pytest.param(name, marks=[pytest.mark.full] if suite in met else []))
        met.add(suite)
    return found
