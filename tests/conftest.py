"""Settings for all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# A busy machine is no failure, and a failure must come back on the next run.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.register_profile("full", deadline=None, max_examples=1000)
settings.load_profile("full" if os.environ.get("SIMTRAIN_FULL") else "steady")
