"""Settings for all tests."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# A busy machine is no failure, and a failure must come back on the next run.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.register_profile("full", deadline=None, max_examples=1000)
settings.load_profile("full" if os.environ.get("SIMTRAIN_FULL") else "steady")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave what starts the real servers to `make test-full`."""
    for item in items:
        if "real_folder" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.full)
