"""The official conformance suite against a fixture server, against its served capture, and against a relay in front of it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Literal

import pytest

FOLDER = (Path(__file__).parents[1] / "support") / "conformance"
sys.path.insert(0, str(FOLDER))

from run_suite import Outcome, run_suite  # noqa: E402

pytestmark = pytest.mark.full

VERSIONS = {"2025-11-25": 84, "2026-07-28": 152}
"""The checks that the fixture passes, by version of the specification."""

SIMTRAIN = [sys.executable, "-m", "simtrain"]


@contextmanager
def running(command: list[str], folder: Path, *, says: Literal["stdout", "stderr"] = "stdout") -> Iterator[str]:
    """The first line that a server in a process of its own prints."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    pipes = {says: subprocess.PIPE}
    with subprocess.Popen(command, cwd=folder, text=True, env=environment, **pipes) as process:
        said = process.stdout if says == "stdout" else process.stderr
        assert said is not None
        try:
            yield said.readline().strip()
        finally:
            process.terminate()
            process.wait(20)


@contextmanager
def serving_its_capture(url: str, folder: Path) -> Iterator[str]:
    """The URL of what was captured of a server, served."""
    words = [url, "--name", "fixture", "--probes", str(FOLDER / "probes.yaml"), "--out", "fixture.json"]
    done = subprocess.run([*SIMTRAIN, "capture", *words], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    with running([*SIMTRAIN, "serve", "fixture.json", "--port", "0", "--control-port", "-1", "--json"], folder) as line:
        yield json.loads(line)["mcp"]


@contextmanager
def relaying(url: str, folder: Path) -> Iterator[str]:
    """The URL of a relay in front of a server."""
    words = ["relay", url, "--port", "0", "--record", "recording.jsonl"]
    with running([*SIMTRAIN, *words], folder, says="stderr") as line:
        found = re.search(r"http://\S+/mcp", line)
        assert found, line
        yield found[0]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_fixture_its_served_capture_and_a_relay_pass_every_check(version: str, tmp_path: Path) -> None:
    def suite(before: Callable[[str, Path], AbstractContextManager[str]]) -> Outcome:
        with before(fixture, tmp_path) as url:
            return run_suite(url, version)

    with (
        running([sys.executable, str(FOLDER / "fixture_server.py")], tmp_path) as fixture,
        ThreadPoolExecutor() as pool,
    ):
        # Most of a suite is waiting, so that the three wait together.
        ways = {"itself": lambda url, folder: nullcontext(url), "served": serving_its_capture, "relayed": relaying}
        running_suites = {name: pool.submit(suite, way) for name, way in ways.items()}
        outcomes = {name: suite.result() for name, suite in running_suites.items()}
    for name, outcome in outcomes.items():
        assert (outcome.passed, outcome.failed) == (VERSIONS[version], 0), (name, outcome.failures)
    assert (tmp_path / "recording.jsonl").stat().st_size > 10_000
