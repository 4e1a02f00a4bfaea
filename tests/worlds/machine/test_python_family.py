"""The shipped family with Python: proved over every case, in the sandbox."""

import asyncio

import pytest

from simtrain.scenarios.find import shipped_scenarios
from simtrain.scenarios.load import load_scenario_file
from simtrain.validation.prove import prove
from tests.support.sandboxes import opened

pytestmark = [pytest.mark.slow, pytest.mark.full]


def test_the_family_with_python_is_proved_for_every_case() -> None:
    name = "terminal_python/crashing_report"
    with opened("wasm"):
        proof = asyncio.run(prove(load_scenario_file(shipped_scenarios()[name], name)))
    assert (proof.problems, proof.cases) == ([], 16)
