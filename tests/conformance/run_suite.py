"""Runs the official conformance suite against a URL and counts its checks."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass

from real_servers import node, npm_program

LIMIT = 300
_TOTAL = re.compile(r"Total: (\d+) passed, (\d+) failed", re.IGNORECASE)


@dataclass(frozen=True)
class Outcome:
    """How many checks passed and failed, and the lines that say which failed."""

    passed: int
    failed: int
    failures: tuple[str, ...]
    output: str


def run_suite(url: str, version: str, *more: str) -> Outcome:
    """The suite's checks of one version of the specification."""
    command = [node(), npm_program("conformance", "conformance"), "server", "--url", url, "--suite", "all", "--spec-version", version]
    done = subprocess.run([*command, *more], capture_output=True, text=True, timeout=LIMIT)
    output = done.stdout + done.stderr
    found = _TOTAL.search(output)
    assert found, output[-3000:]
    failures = tuple(line.strip() for line in output.splitlines() if line.strip().startswith("✗"))
    return Outcome(int(found[1]), int(found[2]), failures, output)
