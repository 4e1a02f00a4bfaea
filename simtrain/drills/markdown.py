"""The report of a drill as Markdown, for the summary of a CI job."""

import re
from collections.abc import Iterator, Sequence

from simtrain.drills.measures import Measures, Share
from simtrain.drills.report import Report, RunReport
from simtrain.values.arm import CLEAN
from simtrain.values.terminal_text import in_line

FIXES = 10
"""Maximum findings of an agent that are written."""

HEADINGS = ("arm", "episodes", "success", "points against clean", "recovery", "false success", "doubled writes")


def markdown(report: Report, failures: Sequence[str]) -> str:
    """Return the summary: for each agent its arms and what to fix; first the conditions that hold, one line each in `failures`."""
    lines = ["# Drill", ""]
    if failures:
        lines += ["**Failed:**", "", *(f"- {_prose(line)}" for line in failures), ""]
    for run in report.runs:
        lines += _run(run)
    return "\n".join(lines)


def _run(run: RunReport) -> Iterator[str]:
    yield from (f"## {_code(run.agent)}", "", f"| {' | '.join(HEADINGS)} |", f"|---|{'--:|' * (len(HEADINGS) - 1)}")
    yield from (f"| {' | '.join(_cells(arm.name, arm.measures))} |" for arm in run.arms)
    yield ""
    yield from (f"- never fired: {_prose(line)}" for line in run.unfired)
    for number, finding in enumerate(run.findings[:FIXES], 1):
        commands = (_code(command, table=False) for command in (finding.command(run.path), finding.replay(run.path)))
        yield f"{number}. {_prose(f'{finding.words} {finding.advice}')}<br>{'<br>'.join(commands)}"
    if len(run.findings) > FIXES:
        yield f"\n{len(run.findings) - FIXES} more are in the report."
    yield ""


def _cells(name: str, found: Measures) -> Iterator[str]:
    versus = None if name == CLEAN else found.versus
    yield from (_code(name), str(found.episodes), _percent(found.success))
    yield f"{versus.difference.mean * 100:+.1f}" if versus else "-"
    yield from (_percent(found.recovery), str(found.false_success.part), str(found.duplicate_writes.part))


def _percent(share: Share) -> str:
    return "-" if share.value is None else f"{share.value:.0%}"


def _code(text: str, *, table: bool = True) -> str:
    """Return a text as code, in which nothing is markup; in a `table` its bars are escaped, since they would end the cell."""
    shown = in_line(text) or " "
    fence = "`" * (1 + max(map(len, re.findall("`+", shown)), default=0))
    # A backtick at either end would become part of the fence.
    padded = f" {shown} " if "`" in (shown[0], shown[-1]) else shown
    return f"{fence}{padded.replace('|', chr(92) + '|') if table else padded}{fence}"


def _prose(text: str) -> str:
    """Return a text in which nothing is markup, HTML, a mention or a link."""
    return re.sub(r"[^\w\s,;'%-]|_|(?<=\w)[.](?=\w)", _entity, in_line(text))


def _entity(found: re.Match[str]) -> str:
    # A full stop at the end of a sentence stays readable in the source.
    return (
        found[0]
        if found[0] == "." and not found.string[found.end() : found.end() + 1].strip()
        else f"&#{ord(found[0])};"
    )
