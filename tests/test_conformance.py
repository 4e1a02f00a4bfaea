"""The official conformance suite against a fixture server, against its served capture, and against a relay in front of it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest

FOLDER = Path(__file__).parent / "conformance"
sys.path.insert(0, str(FOLDER))

from run_suite import run_suite  # noqa: E402

VERSIONS = {"2025-11-25": 84, "2026-07-28": 152}
"""The checks that the fixture passes, by version of the specification."""

BY_VERSION = pytest.mark.parametrize("version", VERSIONS)
SIMTRAIN = [sys.executable, "-m", "simtrain"]


@contextmanager
def running(command: list[str], folder: Path, *, says: Literal["stdout", "stderr"] = "stdout") -> Iterator[str]:
    """The first line that a server in a process of its own prints."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    pipes = {says: subprocess.PIPE}
    with subprocess.Popen(command, cwd=folder, text=True, env=environment, **pipes) as process:
        said = process.stdout if says == "stdout" else process.stderr
        assert said is not None
        try:
            yield said.readline().strip()
        finally:
            process.terminate()
            process.wait(20)


@pytest.fixture(scope="module")
def fixture_url(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """The URL of the fixture server."""
    with running([sys.executable, str(FOLDER / "fixture_server.py")], tmp_path_factory.mktemp("fixture")) as url:
        yield url


@pytest.fixture(scope="module")
def served_url(fixture_url: str, tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """The URL of the fixture's capture, served."""
    folder = tmp_path_factory.mktemp("served")
    words = [fixture_url, "--name", "fixture", "--probes", str(FOLDER / "probes.yaml"), "--out", "fixture.json"]
    done = subprocess.run([*SIMTRAIN, "capture", *words], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    with running([*SIMTRAIN, "serve", "fixture.json", "--port", "0", "--control-port", "-1", "--json"], folder) as line:
        yield json.loads(line)["mcp"]


@BY_VERSION
def test_the_fixture_passes_every_check(version: str, fixture_url: str) -> None:
    outcome = run_suite(fixture_url, version)
    assert (outcome.passed, outcome.failed) == (VERSIONS[version], 0), outcome.failures


@BY_VERSION
def test_its_served_capture_passes_what_it_passes(version: str, served_url: str) -> None:
    outcome = run_suite(served_url, version)
    assert (outcome.passed, outcome.failed) == (VERSIONS[version], 0), outcome.failures


@BY_VERSION
def test_a_relay_in_front_of_it_passes_what_it_passes(version: str, fixture_url: str, tmp_path: Path) -> None:
    words = ["relay", fixture_url, "--port", "0", "--record", "recording.jsonl"]
    with running([*SIMTRAIN, *words], tmp_path, says="stderr") as line:
        found = re.search(r"http://\S+/mcp", line)
        assert found, line
        outcome = run_suite(found[0], version)
    assert (outcome.passed, outcome.failed) == (VERSIONS[version], 0), outcome.failures
    assert (tmp_path / "recording.jsonl").stat().st_size > 10_000
