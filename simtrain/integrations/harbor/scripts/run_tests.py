"""Runs the tests in the working directory, and writes what came of each, line by line, so that a run that is cut off tells too.

`python3 run_tests.py OUTCOMES [FILE...]`: with files, only those. Standard input has a word that each line of OUTCOMES bears, the seal:
the code under test runs beside this program, and must not find it.
"""

import json
import sys
from pathlib import Path
from typing import TextIO

import pytest


class Outcomes:
    """A plug-in of pytest that writes what happens."""

    def __init__(self, out: TextIO, seal: str) -> None:
        self._out = out
        self._seal = seal
        self._ended: set[str] = set()

    def write(self, **told: object) -> None:
        """Write one line, at once."""
        self._out.write(json.dumps({"seal": self._seal, **told}) + "\n")
        self._out.flush()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Tell of a file that cannot be collected."""
        if report.failed:
            self.write(broken=report.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Tell how a test ended; a failure at any of its stages is one."""
        if report.nodeid in self._ended or (report.passed and report.when != "teardown"):
            return
        self._ended.add(report.nodeid)
        self.write(test=report.nodeid, outcome=report.outcome)


def main(outcomes: str, *files: str) -> int:
    """Run, and return pytest's exit code."""
    with Path(outcomes).open("w") as out:
        watch = Outcomes(out, sys.stdin.readline().strip())
        del sys.argv[1:]
        plain = ["-q", "--tb=short", "--no-header", "-p", "no:cacheprovider"]
        code = int(pytest.main([*plain, *files], plugins=[watch]))
        if code == pytest.ExitCode.USAGE_ERROR:
            # The repository's settings have options of plug-ins that are not here.
            code = int(pytest.main([*plain, "-o", "addopts=", *files], plugins=[watch]))
        watch.write(code=code)
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
