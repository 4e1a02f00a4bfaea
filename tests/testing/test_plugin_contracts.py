"""Every plug-in in the table keeps the contract of its kind."""

from __future__ import annotations

import pytest

from simtrain.contracts.registry import resolve
from simtrain.plugins import PLUGINS
from simtrain.testing.contracts import check_plugin

pytestmark = pytest.mark.slow

TABLE = [(kind, name) for kind, table in PLUGINS.items() for name in table]


@pytest.mark.parametrize(("kind", "name"), TABLE, ids=[f"{kind}-{name}" for kind, name in TABLE])
def test_a_plug_in_keeps_the_contract_of_its_kind(kind: str, name: str) -> None:
    check_plugin(kind, resolve(kind, name))
