"""The report of a drill as JUnit XML, for CI systems: a suite for each agent, a case for each condition, or for each family and arm."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from xml.etree import ElementTree

from simtrain.drills.findings import episode_command, shortest
from simtrain.drills.gates import Gate
from simtrain.drills.outcome import Outcome, distinct
from simtrain.drills.report import Report, RunReport
from simtrain.values.terminal_text import fit

SHOWN = 3
"""Maximum episodes of a case whose commands are written."""

# Besides what `fit` escapes: the two characters of its own plane that XML 1.0 forbids.
_FORBIDDEN = re.compile("[\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class JUnitCase:
    """One testcase. `kind` is `failure` or `skipped`, or empty if it passed; `details` are the lines below its message."""

    group: str
    name: str
    kind: str = ""
    message: str = ""
    details: tuple[str, ...] = ()


def junit(report: Report, gates: Sequence[Gate], *, allow_unfired: bool = False) -> str:
    """Return the XML. Without conditions, a case fails if an episode of its family and arm went wrong. Raises InputError for a
    condition that no arm fits.

    A planned fault that never fired is a failure, or skipped with `allow_unfired`.
    """
    whole = ElementTree.Element("testsuites", name="simtrain drill")
    for run in report.runs:
        cases = [*(_conditions(run, gates) if gates else _families(run)), *_unfired(run, allowed=allow_unfired)]
        _suite(whole, run, cases)
    for name in ("tests", "failures", "errors"):
        whole.set(name, str(sum(int(suite.get(name, 0)) for suite in whole)))
    ElementTree.indent(whole)
    # Declared by hand, since ElementTree would name the encoding of this machine.
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(whole, encoding="unicode") + "\n"


def _suite(whole: ElementTree.Element, run: RunReport, cases: Sequence[JUnitCase]) -> None:
    count = {kind: str(sum(case.kind == kind for case in cases)) for kind in ("failure", "skipped")}
    suite = ElementTree.SubElement(whole, "testsuite", name=_fit(run.agent), tests=str(len(cases)))
    suite.attrib.update(failures=count["failure"], errors="0", skipped=count["skipped"])
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in (("run", str(run.path)), ("seed", str(run.seed))):
        ElementTree.SubElement(properties, "property", name=name, value=_fit(value))
    for case in cases:
        _write(suite, case)


def _write(suite: ElementTree.Element, case: JUnitCase) -> None:
    written = ElementTree.SubElement(suite, "testcase", classname=_fit(case.group), name=_fit(case.name))
    if case.kind:
        result = ElementTree.SubElement(written, case.kind, message=_fit(case.message), type=_fit(case.group))
        result.text = _fit("\n".join((case.message, *case.details)))


def _conditions(run: RunReport, gates: Sequence[Gate]) -> Iterator[JUnitCase]:
    for gate in gates:
        for check in gate.checks(run):
            name = f"{gate.text}: {check.where}"
            if check.problem is None:
                yield JUnitCase("conditions", name)
            else:
                yield JUnitCase("conditions", name, "failure", check.problem, tuple(_fixes(run, check.where, gate)))


def _fixes(run: RunReport, where: str, gate: Gate) -> Iterator[str]:
    """Yield what to fix, with commands; for a condition on one arm, of episodes of that arm."""
    for finding in run.findings:
        found = [one for one in finding.episodes if gate.arms is None or one.arm == where]
        if found:
            yield f"{finding.words} {finding.advice}"
            yield from _commands(run, [shortest(found)])


def _families(run: RunReport) -> Iterator[JUnitCase]:
    for arm, played in run.outcomes.items():
        ordered = sorted(distinct(played), key=lambda outcome: outcome.pairing)
        for family, found in groupby(ordered, key=lambda outcome: outcome.pairing[0]):
            yield _family(run, family, arm, list(found))


def _family(run: RunReport, family: str, arm: str, found: Sequence[Outcome]) -> JUnitCase:
    graded = [outcome for outcome in found if outcome.right is not None]
    if not graded:
        return JUnitCase(family, arm, "skipped", "no episode could be graded")
    wrong = [outcome for outcome in graded if not outcome.right]
    if not wrong:
        return JUnitCase(family, arm)
    plural = "" if len(graded) == 1 else "s"
    message = f"{len(wrong)} of {len(graded)} episode{plural} went wrong"
    return JUnitCase(family, arm, "failure", message, tuple(_commands(run, wrong[:SHOWN])))


def _commands(run: RunReport, outcomes: Sequence[Outcome]) -> Iterator[str]:
    for outcome in outcomes:
        yield from (episode_command(verb, run.path, outcome) for verb in ("show", "replay"))


def _unfired(run: RunReport, *, allowed: bool) -> Iterator[JUnitCase]:
    for line in run.unfired:
        yield JUnitCase("planned faults", line, "skipped" if allowed else "failure", line)


def _fit(text: str) -> str:
    return _FORBIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", fit(text))
