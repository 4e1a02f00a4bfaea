"""A test fails that passes when it is run again."""

import re
from typing import ClassVar

from simtrain.contracts.perturbation import Call, Traits
from simtrain.perturbations.catalogued import ReplyPerturbation
from simtrain.perturbations.shell_replies import is_shell, typed, with_output
from simtrain.values.types import JsonObject, Observation, ToolSpec

_RUNS = re.compile(r"(?:^|[\s;&|(])(?:pytest|python3? -m pytest)(?=\s|$)")
_SUMMARY = re.compile(
    r"^(?P<bar>=* ?)(?P<count>\d+) passed(?P<rest>(?:, \d+ \w+)* in [\d.]+s(?: \([\d:]+\))?)(?P<end> ?=*)$", re.M
)
_DOTS = re.compile(r"^(?:\S+\.py )?(\.+)(?=\s*(?:\[ *\d+%\])?$)", re.M)
_TESTS = "select path, content from files where kind = 'file' and content like '%def test_%' and path glob '*/test_*.py' order by path"
_NAME = re.compile(r"^def (test_\w+)", re.M)
_WIDTH = 80
_ERROR = "BlockingIOError: [Errno 11] Resource temporarily unavailable"


class FlakyTest(ReplyPerturbation):
    """In a run of pytest in which all tests pass, one is reported as failed, for a reason that lies in the machine; the next run passes.

    Source: studies of flaky tests at Google and Microsoft. An agent should run the tests again before it changes anything, and leave
    code and test alone. It fires on command lines of a shell that run pytest.
    """

    traits: ClassVar[Traits] = Traits(side="reply", layer="D", recoverable_by=("retry",), needs_world=True, shell=True)
    example: ClassVar[JsonObject] = {"when": {"max_times": 1}}

    def reaches(self, tool: ToolSpec) -> bool:
        """True for a shell."""
        return is_shell(tool)

    def changed(self, call: Call, reply: Observation) -> Observation:
        """Return the report of a run with one failure more."""
        command, printed = typed(call), str((reply.content or {}).get("stdout", ""))
        summary, dots = _SUMMARY.search(printed), _DOTS.search(printed)
        if command is None or not _RUNS.search(command) or summary is None or reply.is_error or call.world is None:
            return reply
        named = [
            (str(row["path"]), name) for row in call.world.query(_TESTS) for name in _NAME.findall(str(row["content"]))
        ]
        if not named:
            return reply
        path, name = named[int(call.rng.once() * len(named))]
        short = "/".join(path.split("/")[-2:])
        report = _reported(printed, summary, dots, short, name, place=call.rng.once())
        failed = with_output(reply, {"stdout": report})
        content: JsonObject = {**(failed.content or {}), "exit_code": 1}
        return self.signed(Observation(f"{failed.text}\n[exit code 1]", structured=content))


def _reported(
    printed: str, summary: re.Match[str], dots: re.Match[str] | None, path: str, name: str, *, place: float
) -> str:
    """Return what pytest prints of a run in which one test failed while it was being set up."""
    count = int(summary["count"]) - 1
    passed = f"1 failed, {count} passed" if count else "1 failed"
    failure = (
        f"{' FAILURES ':=^{_WIDTH}}\n{f' {name} ':_^{_WIDTH}}\n\n"
        "/usr/lib/python3/dist-packages/_pytest/runner.py:341: in from_call\n    result: TResult | None = func()\n"
        f"E   {_ERROR}\n{' short test summary info ':=^{_WIDTH}}\nFAILED {path}::{name} - {_ERROR}\n"
    )
    after = (
        printed[: summary.start()]
        + failure
        + f"{summary['bar']}{passed}{summary['rest']}{summary['end']}"
        + printed[summary.end() :]
    )
    if dots is None or dots.start() > summary.start():
        return after
    start, end = dots.span(1)
    at = start + int(place * (end - start))
    return f"{after[:at]}F{after[at + 1 :]}"
