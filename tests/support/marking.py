"""What `make test` leaves to `make test-full`."""

from __future__ import annotations

from collections.abc import Sequence

import pytest


def first_here(names: Sequence[str]) -> list[object]:
    """Parameters of which `make test` takes the first, and `make test-full` the others."""
    return [pytest.param(name, marks=() if name == names[0] else pytest.mark.full) for name in names]
