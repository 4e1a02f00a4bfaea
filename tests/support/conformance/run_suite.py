"""Runs the official conformance suite against a URL and counts its checks."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass

from real_servers import node, npm_program

LIMIT = 300
_TOTAL = re.compile(r"^Total: (\d+) passed, (\d+) failed", re.MULTILINE)
_FAILED = re.compile(r"^. (\S+): \d+ passed, [1-9]\d* failed", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """How many checks passed and failed, and the scenarios in which some did."""

    passed: int
    failed: int
    failures: tuple[str, ...]


def run_suite(url: str, version: str) -> Outcome:
    """The suite's checks of one version of the specification."""
    suite = npm_program("conformance", "conformance")
    words = ["server", "--url", url, "--suite", "all", "--spec-version", version]
    done = subprocess.run([node(), suite, *words], capture_output=True, text=True, timeout=LIMIT)
    output = done.stdout + done.stderr
    found = _TOTAL.search(output)
    assert found, output[-3000:]
    return Outcome(int(found[1]), int(found[2]), tuple(_FAILED.findall(output)))
