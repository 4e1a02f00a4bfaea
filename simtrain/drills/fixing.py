"""The last section of the report: what to fix, each with an episode and the commands that show it and play it again."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from simtrain.drills.report import RunReport

SHOWN = 12


def fixes(run: RunReport) -> Iterator[str]:
    """Yield what to fix, worst first."""
    yield f"<h2>What to fix: {escape(run.agent)}</h2>"
    if not run.findings:
        yield "<p class='soft'>Nothing that was done went wrong.</p>"
        return
    yield (
        "<p class='soft'>Worst first, by the episodes that it spoilt. The commands are to be given in the folder in which the drill "
        "was played: the first shows an episode in which it is seen, the second plays that one again.</p>"
    )
    items: list[str] = []
    for finding in run.findings[:SHOWN]:
        commands = f"{finding.command(run.path)}\n{finding.replay(run.path)}"
        items.append(
            f"<li><b>{escape(finding.words)}</b><span>{escape(finding.advice)}</span><pre class='do'>{escape(commands)}</pre></li>"
        )
    yield f'<ol class="fixes card">{"".join(items)}</ol>'
    if len(run.findings) > SHOWN:
        yield f"<p class='soft'>{len(run.findings) - SHOWN} more are in drill.json.</p>"
