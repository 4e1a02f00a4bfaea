"""Settings for all tests."""

from __future__ import annotations

import os
import socket

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


@pytest.fixture(autouse=True)
def _no_socket_in_quick_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail a test of `make quick` that opens a socket: it belongs among the slow ones."""
    if not os.environ.get("SIMTRAIN_QUICK"):
        return

    def refuse(opened: socket.socket, address: object) -> None:
        if opened.family in (socket.AF_INET, socket.AF_INET6):
            pytest.fail(f"make quick opens no socket ({address!r}): mark the test slow")

    monkeypatch.setattr(socket.socket, "bind", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
