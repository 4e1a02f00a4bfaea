"""Runs the tests of a repository inside the sandbox, and writes what came of each, line by line, so that a cut-off run tells too.

`python3 run_tests.py REQUEST OUTCOMES`: REQUEST is JSON with `ids` (none: all tests), `trace` (whether to tell the lines that each test
runs), `reproduce` (how many failures to write as scripts), `arguments` of pytest, and `seal`, a word that each line of OUTCOMES bears. The
code under test runs beside this program, and must not find the word: REQUEST is removed before.
"""

import json
import os
import sys

import pytest
from reproducing import Unwritable, script_of

_WORDS = 2000
if pytest.version_tuple < (8,):
    sys.exit(f"pytest 8 or newer is needed, and {pytest.__version__} is there")


class Lines:
    """Which lines of the repository run, by file: told by the interpreter once for each line."""

    def __init__(self, root):
        self._root = root + os.sep
        self._names = {}
        self.seen = set()
        self._tool = None
        monitoring = getattr(sys, "monitoring", None)
        if monitoring is None:
            sys.settrace(self._traced)
            return
        self._tool, self._disable = monitoring.COVERAGE_ID, monitoring.DISABLE
        monitoring.use_tool_id(self._tool, "lines")
        monitoring.register_callback(self._tool, monitoring.events.LINE, self._line)
        monitoring.set_events(self._tool, monitoring.events.LINE)

    def _name(self, file):
        name = self._names.get(file)
        if name is None:
            real = file if file[:1] == os.sep else os.path.join(self._root, file)
            name = self._names[file] = real[len(self._root) :] if real.startswith(self._root) else ""
        return name

    def _line(self, code, line):
        name = self._name(code.co_filename)
        if name:
            self.seen.add((name, line))
        return self._disable

    def _traced(self, frame, event, argument):
        name = self._name(frame.f_code.co_filename)
        if not name:
            return None
        if event == "line":
            self.seen.add((name, frame.f_lineno))
        return self._traced

    def taken(self):
        """Return what ran since the last time, as path -> sorted lines."""
        found = {}
        for name, line in sorted(self.seen):
            found.setdefault(name, []).append(line)
        self.seen = set()
        if self._tool is not None:
            sys.monitoring.restart_events()
        return found


class Teller:
    """A plug-in of pytest that writes what happens."""

    def __init__(self, request, out, root):
        self._out = out
        self._seal = request.pop("seal")
        self._left = request["reproduce"]
        self._lines = Lines(root) if request["trace"] else None
        self._ended = set()
        self._failed = set()

    def write(self, **told):
        """Write one line, at once."""
        self._out.write(json.dumps({"seal": self._seal, **told}) + "\n")
        self._out.flush()

    def pytest_collectreport(self, report):
        """Tell of a file that cannot be collected."""
        if report.failed:
            self.write(broken=report.nodeid, why=str(report.longrepr)[-_WORDS:])

    def pytest_collection_finish(self, session):
        """Tell what there is, and which lines importing it ran."""
        self.write(collected=[item.nodeid for item in session.items])
        if self._lines is not None:
            self.write(imported=self._lines.taken())

    def pytest_runtest_logstart(self, nodeid, location):
        """Tell that a test begins."""
        self.write(began=nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        """Keep the failure of a test, with a script that shows it where that can be written."""
        report = yield
        if report.failed and item.nodeid not in self._failed:
            self._failed.add(item.nodeid)
            told = {"error": call.excinfo.typename, "message": str(call.excinfo.value)[:_WORDS]}
            if self._left > 0 and call.when == "call":
                try:
                    told["script"] = script_of(item, call.excinfo)
                    self._left -= 1
                except Unwritable as reason:
                    told["unwritable"] = str(reason)
                # Whatever a stranger's test holds: a failure without a script is still a failure.
                except Exception as error:
                    told["unwritable"] = f"{type(error).__name__}: {error}"
            self.write(failed=item.nodeid, **told)
        return report

    def pytest_runtest_logreport(self, report):
        """Tell how a test ended."""
        if report.skipped:
            self._ended.add(report.nodeid)
            self.write(ended=report.nodeid, outcome="skipped")
        elif report.when == "teardown" and report.nodeid not in self._ended:
            outcome = "failed" if report.nodeid in self._failed else "passed"
            told = {} if self._lines is None else {"lines": self._lines.taken()}
            self.write(ended=report.nodeid, outcome=outcome, **told)


def main(request_file, out_file):
    """Run, and end with pytest's exit code."""
    with open(request_file) as opened:
        request = json.load(opened)
    os.remove(request_file)
    del sys.argv[1:]
    with open(out_file, "w") as out:
        watch = Teller(request, out, os.getcwd())
        watch.write(started=True)
        plain = ["-q", "--tb=no", "--assert=plain", "--no-header", "-p", "no:cacheprovider", "-p", "no:randomly"]
        code = pytest.main([*plain, *request["arguments"], *(request["ids"] or [])], plugins=[watch])
        watch.write(code=int(code))
    return int(code)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
