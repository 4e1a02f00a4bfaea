"""The tiny model that the tests with trainers begin from."""

from __future__ import annotations

import os

import pytest
from training import Taught, taught_model


@pytest.fixture(scope="session")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Taught:
    """The model, trained once for all processes of pytest-xdist."""
    base = tmp_path_factory.getbasetemp()
    return taught_model((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "taught")
