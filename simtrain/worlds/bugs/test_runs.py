"""Runs of a repository's tests in a sandbox, and what came of them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from secrets import token_hex
from typing import Any

from simtrain.contracts.sandbox import OpenSandbox
from simtrain.contracts.sandbox_runs import Ending, Entry, File, SandboxCommand, SandboxLimits, SandboxOutcome

_INSIDE = Path(__file__).parent / "inside"
_PLACE = "/factory"
_ROOT = "/repo"
_OUTCOMES = f"{_PLACE}/outcomes.jsonl"
_SCRIPTS = 5
_MOST_OUTPUT = 20_000


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed test: the error, and the script that shows it, or why there is none."""

    error: str
    message: str
    script: str | None
    unwritable: str


@dataclass(frozen=True, slots=True)
class TestRun:
    """One run of tests. `outcomes` is by test id; `broken` are files that could not be collected, with the reason.

    `started`: whether pytest was there, and of a version that serves. No code of the repository has run before that.
    """

    __test__ = False

    started: bool
    code: int | None
    collected: tuple[str, ...]
    outcomes: dict[str, str]
    failures: dict[str, Failure]
    broken: dict[str, str]
    lines: dict[str, dict[str, frozenset[int]]]
    imported: dict[str, frozenset[int]]
    last_begun: str | None
    ended_by: Ending | None
    seconds: float
    said: str
    compiled: dict[str, tuple[bytes, File]]

    @property
    def failed(self) -> tuple[str, ...]:
        """The tests that failed, in the order of their run."""
        return tuple(test for test, outcome in self.outcomes.items() if outcome == "failed")

    @property
    def lacks_plugins(self) -> bool:
        """Whether pytest did not start, since the repository's settings have options of plug-ins that the sandbox lacks."""
        return self.code == 4 and "unrecognized arguments" in self.said

    @property
    def whole(self) -> bool:
        """Whether it ran to its end, and all files could be collected."""
        return self.ended_by is None and not self.broken and self.code in (0, 1)


_WITHOUT_PLUGINS = ("-o", "addopts=")
"""Arguments of pytest that leave out the options in a repository's settings."""


@dataclass(frozen=True, slots=True)
class ScriptRun:
    """What a script printed, and the last line of its error."""

    printed: str
    error: str
    ended_by: Ending | None


@dataclass(frozen=True, slots=True)
class TestRunner:
    """Runs tests and scripts over trees of one repository (path -> content). `arguments` go to pytest.

    `work` is the most seconds of computing, by the virtual clock, of a run. `compiled` is byte code by the path of its source, with the
    source that it belongs to: compiling takes a third of a run.
    """

    __test__ = False

    sandbox: OpenSandbox
    arguments: tuple[str, ...] = ()
    work: float = 60.0
    compiled: Mapping[str, tuple[bytes, File]] = field(default_factory=dict[str, tuple[bytes, File]])
    _own: dict[str, Entry] = field(default_factory=lambda: _own_files())

    def tests(
        self,
        files: Mapping[str, bytes],
        ids: Sequence[str] | None = None,
        *,
        trace: bool = False,
        scripts: int = _SCRIPTS,
        work: float | None = None,
    ) -> TestRun:
        """Run the tests of these ids, or all."""
        # Whoever writes lines without it is the code under test.
        seal = token_hex(16)
        request = {
            "seal": seal,
            "ids": list(ids) if ids is not None else None,
            "trace": trace,
            "reproduce": scripts,
            "arguments": list(self.arguments),
        }
        asked = {f"{_PLACE}/request.json": File(json.dumps(request).encode())}
        argv = ("python3", f"{_PLACE}/run_tests.py", f"{_PLACE}/request.json", _OUTCOMES)
        if self.compiled:
            argv = ("python3", "-B", *argv[1:])
        outcome = self.sandbox.run(self._command(argv, files, asked, work or self.work))
        told = outcome.changes.get(_OUTCOMES)
        lines = told.content.splitlines() if isinstance(told, File) else []
        said = (outcome.stdout + outcome.stderr)[-_MOST_OUTPUT:].decode(errors="replace")
        return _read(lines, seal, outcome, said, files)

    def first_tests(
        self, files: Mapping[str, bytes], ids: Sequence[str] | None = None, *, trace: bool = False
    ) -> tuple["TestRunner", TestRun]:
        """Run tests, without scripts of failures, and return the runner for later runs, which passes over options of missing plug-ins."""
        run = self.tests(files, ids, trace=trace, scripts=0)
        if not run.lacks_plugins:
            return self, run
        runner = replace(self, arguments=(*self.arguments, *_WITHOUT_PLUGINS))
        return runner, runner.tests(files, ids, trace=trace, scripts=0)

    def script(self, files: Mapping[str, bytes], script: str) -> ScriptRun:
        """Run a script beside the repository, and return what it printed."""
        asked = {f"{_PLACE}/try.py": File(script.encode())}
        limits = max(5.0, self.work / 4)
        outcome = self.sandbox.run(self._command(("python3", "-B", f"{_PLACE}/try.py"), files, asked, limits))
        errors = outcome.stderr.decode(errors="replace").strip().splitlines()
        return ScriptRun(
            outcome.stdout.decode(errors="replace")[:_MOST_OUTPUT],
            (errors[-1] if errors else "exit") if outcome.exit_code else "",
            outcome.ended_by,
        )

    def _command(
        self, argv: tuple[str, ...], files: Mapping[str, bytes], asked: Mapping[str, Entry], work: float
    ) -> SandboxCommand:
        entries: dict[str, Entry] = {f"{_ROOT}/{path}": File(content) for path, content in files.items()}
        # All files bear the same time, so only the content tells whether byte code is up to date.
        for path, (source, code) in self.compiled.items():
            if files.get(path) == source:
                entries[_cached(path)] = code
        size = sum(len(content) for content in files.values())
        paths = [_ROOT, f"{_ROOT}/src"] if any(path.startswith("src/") for path in files) else [_ROOT]
        return SandboxCommand(
            argv,
            files={**entries, **self._own, **asked},
            env={"HOME": "/tmp", "PYTHONPATH": ":".join(paths), "LANG": "C.UTF-8"},
            cwd=_ROOT,
            limits=SandboxLimits(work=work, scratch=size + (64 << 20), files=len(files) + 20_000),
        )


def _own_files() -> dict[str, Entry]:
    return {f"{_PLACE}/{name}": File((_INSIDE / name).read_bytes()) for name in ("run_tests.py", "reproducing.py")}


def _cached(path: str) -> str:
    folder, _, name = f"{_ROOT}/{path}".rpartition("/")
    return f"{folder}/__pycache__/{name.removesuffix('.py')}.cpython-314.pyc"


def _read(lines: Iterable[bytes], seal: str, outcome: SandboxOutcome, said: str, files: Mapping[str, bytes]) -> TestRun:
    """Read the lines of a run that bear its seal; others are by a program that nobody trusts, and are passed over."""
    started = False
    code: int | None = None
    collected: tuple[str, ...] = ()
    outcomes: dict[str, str] = {}
    failures: dict[str, Failure] = {}
    broken: dict[str, str] = {}
    ran: dict[str, dict[str, frozenset[int]]] = {}
    imported: dict[str, frozenset[int]] = {}
    begun: str | None = None
    for line in lines:
        try:
            told: Any = json.loads(line)
            if told["seal"] != seal:
                continue
            if "began" in told:
                begun = str(told["began"])
            elif "ended" in told:
                test = str(told["ended"])
                outcomes[test] = str(told["outcome"])
                begun = None
                if "lines" in told:
                    ran[test] = _lines(told["lines"])
            elif "failed" in told:
                script = told.get("script")
                failures[str(told["failed"])] = Failure(
                    str(told["error"]),
                    str(told["message"]),
                    str(script) if script is not None else None,
                    str(told.get("unwritable", "")),
                )
            elif "started" in told:
                started = True
            elif "collected" in told:
                collected = tuple(str(test) for test in told["collected"])
            elif "imported" in told:
                imported = _lines(told["imported"])
            elif "broken" in told:
                broken[str(told["broken"])] = str(told["why"])
            elif "code" in told:
                code = int(told["code"])
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    compiled: dict[str, tuple[bytes, File]] = {}
    for path, source in files.items():
        made = outcome.changes.get(_cached(path)) if path.endswith(".py") else None
        if isinstance(made, File):
            compiled[path] = (source, made)
    return TestRun(
        started=started,
        code=code,
        collected=collected,
        outcomes=outcomes,
        failures=failures,
        broken=broken,
        lines=ran,
        imported=imported,
        last_begun=begun,
        ended_by=outcome.ended_by,
        seconds=outcome.seconds,
        said=said,
        compiled=compiled,
    )


def _lines(told: Any) -> dict[str, frozenset[int]]:
    return {str(path): frozenset(int(line) for line in lines) for path, lines in told.items()}
