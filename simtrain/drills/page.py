"""The report of a drill as one HTML page: no script, nothing loaded from elsewhere, every word of agents and worlds escaped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from simtrain.drills.aftermath import REACTIONS
from simtrain.drills.charts import ChartRow, Curve, Recovered, aftermath, forest, recovery, severity_curve
from simtrain.drills.episodes import episode
from simtrain.drills.fixing import fixes
from simtrain.drills.measures import Measures, Share, identical_words
from simtrain.drills.report import ArmReport, FamilyReport, Report, RunReport
from simtrain.drills.style import STYLE
from simtrain.drills.worst import worst
from simtrain.values.arm import CLEAN

NONE = "-"


def page(report: Report) -> str:
    """Return the whole page."""
    body = "\n".join(_sections(report))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Drill: {escape(_agents(report))}</title><style>{STYLE}</style></head>\n<body><main>\n{body}\n</main></body></html>\n"
    )


def _agents(report: Report) -> str:
    return " against ".join(run.agent for run in report.runs)


def _sections(report: Report) -> Iterator[str]:
    first, last = report.runs[0], report.runs[-1]
    scenarios = sorted(
        {outcome.pairing[0] for run in report.runs for found in run.outcomes.values() for outcome in found}
    )
    yield f"<h1>Drill of {escape(_agents(report))}</h1>"
    yield (
        f'<p class="soft">{escape(", ".join(scenarios))} · {len(first.arms)} arms · '
        f"{sum(arm.measures.episodes for run in report.runs for arm in run.arms):,} episodes · seed {first.seed}</p>"
    )
    for run in report.runs:
        if len(report.runs) > 1:
            yield f"<h3>{escape(run.agent)}</h3>"
        yield _tiles(run)
    yield from _repeated(report)
    yield from _unfired(report)
    hardest = _hardest(report)
    if not hardest:
        return
    yield "<h2>What each perturbation costs</h2>"
    yield (
        "<p class='soft'>Difference in success against the same cases, seeds and attempts played clean, in percentage points, with 95 % "
        f"intervals over cases{_at_hardest(report)}.</p>"
    )
    yield _key(_DOTS, report) + _card(
        forest(_degradation(report, hardest), title="Paired difference in success by perturbation")
    )
    if report.compared:
        yield f"<h2>{escape(last.agent)} against {escape(first.agent)}</h2>"
        yield "<p class='soft'>Difference in success over the pairs that both have played; to the right the second agent is better.</p>"
        rows = [
            ChartRow(name, [report.compared[name].difference]) for name in (CLEAN, *hardest) if name in report.compared
        ]
        yield _key(_DOTS) + _card(forest(rows, title="Difference between the agents by arm"))
    curves = list(_curves(report))
    if curves:
        yield "<h2>Success by severity</h2><p class='soft'>With 95 % intervals over cases.</p>"
        yield (
            _key(_CURVES, report)
            + f'<div class="grid2">{"".join(_card(severity_curve(found)) for found in curves)}</div>'
        )
    yield "<h2>Recovery and its price</h2>"
    yield "<p class='soft'>Of the episodes in which a fault fired and whose clean twins ended right: how many ended right "
    yield "all the same, and how many more calls those took.</p>"
    yield _key(_BARS, report) + _card(
        recovery(_recovered(report, hardest), title="Recovery rate and extra calls by perturbation")
    )
    for run in report.runs:
        yield from _aftermath(run, hardest)
    for run in report.runs:
        yield from _attacks(run)
    for run in report.runs:
        yield f"<h2>All arms: {escape(run.agent)}</h2>" + _card(_table(run))
    for run in report.runs:
        yield from _families(run)
    for run in report.runs:
        yield from _worst(run)
    for run in report.runs:
        yield from fixes(run)


def _tiles(run: RunReport) -> str:
    clean, bent = run.clean, run.perturbed
    tiles = [_tile(_percent(clean.success), "success, clean", _range(clean.success))]
    if bent is not None:
        difference = bent.versus.difference if bent.versus else None
        points = "-" if difference is None else f"{difference.mean * 100:+.1f}".replace("-", "−")
        tiles += [
            _tile(_percent(bent.success), "success, perturbed", _range(bent.success)),
            _tile(points, "points against clean twins", "" if difference is None else f"{difference.n:,} pairs"),
            _tile(_percent(bent.recovery), "recovered after a fault", f"{bent.recovery.whole:,} episodes with faults"),
            _tile(
                _percent(bent.false_success),
                "false success",
                f"{bent.false_success.part:,} episodes",
                bad=bent.false_success.part > 0,
            ),
            *_false_failures(bent),
            _tile(
                str(bent.duplicate_writes.part), "episodes with doubled writes", "", bad=bent.duplicate_writes.part > 0
            ),
            _tile(_percent(bent.runaway), "runaway", f"{bent.runaway.part:,} episodes"),
        ]
        if bent.landed.part:
            landed = f"of {bent.landed.part:,} that landed"
            tiles.append(_tile(_percent(bent.attack_success), "attacks won", landed, bad=bent.attack_success.part > 0))
        if bent.abstention.whole:
            tiles.append(
                _tile(_percent(bent.abstention), "honest abstention", f"{bent.abstention.whole:,} impossible episodes")
            )
    return f'<div class="tiles">{"".join(tiles)}</div>'


def _tile(figure: str, words: str, small: str, *, bad: bool = False) -> str:
    return f'<div class="tile{" bad" if bad else ""}"><b>{escape(figure)}</b><span>{escape(words)}</span><span>{escape(small)}</span></div>'


def _false_failures(bent: Measures) -> list[str]:
    found = bent.false_failure
    return [_tile(_percent(found), "false failure", f"{found.part:,} episodes", bad=True)] if found.part else []


def _unfired(report: Report) -> Iterator[str]:
    lines = [(run.agent, line) for run in report.runs for line in run.unfired]
    if lines:
        items = "".join(
            f"<li>{escape(f'{agent}: {line}' if len(report.runs) > 1 else line)}</li>" for agent, line in lines
        )
        yield f'<div class="notice"><b>Planned, and never fired:</b> these prove nothing.<ul>{items}</ul></div>'
    spared = [f"{run.agent}: {line}" if len(report.runs) > 1 else line for run in report.runs for line in run.spared]
    if spared:
        items = "".join(f"<li>{escape(line)}</li>" for line in spared)
        yield f'<div class="notice quiet"><b>Spared what fired elsewhere</b><ul>{items}</ul></div>'


def _hardest(report: Report) -> list[str]:
    """For each thing that can go wrong, the arm in which it hits hardest."""
    found: dict[str, ArmReport] = {}
    for run in report.runs:
        for arm in run.arms:
            known = found.get(arm.what)
            if not arm.control and (known is None or (arm.severity or 0) > (known.severity or 0)):
                found[arm.what] = arm
    return [arm.name for arm in found.values()]


def _at_hardest(report: Report) -> str:
    severities = {
        arm.severity for run in report.runs for arm in run.arms if not arm.control and arm.severity is not None
    }
    return f"; at severity {max(severities):g}" if severities else ""


def _measures(run: RunReport, name: str) -> Measures | None:
    arm = run.arm(name)
    return arm.measures if arm else None


def _degradation(report: Report, hardest: Sequence[str]) -> list[ChartRow]:
    rows = [
        ChartRow(
            name,
            [
                found.versus.difference if (found := _measures(run, name)) and found.versus else None
                for run in report.runs
            ],
        )
        for name in hardest
    ]
    return sorted(rows, key=lambda row: min((found.mean for found in row.estimates if found), default=0.0))


def _curves(report: Report) -> Iterator[Curve]:
    kinds = dict.fromkeys(arm.what for run in report.runs for arm in run.arms if arm.severity is not None)
    for what in kinds:
        points = [
            {arm.severity: arm.measures.success for arm in run.arms if arm.what == what and arm.severity is not None}
            for run in report.runs
        ]
        if max(len(found) for found in points) > 1:
            yield Curve(what, points, [run.clean.success.value for run in report.runs])


def _recovered(report: Report, hardest: Sequence[str]) -> list[Recovered]:
    return [
        Recovered(
            name,
            [found.recovery if (found := _measures(run, name)) else None for run in report.runs],
            [found.extra_calls if (found := _measures(run, name)) else None for run in report.runs],
        )
        for name in hardest
    ]


def _aftermath(run: RunReport, hardest: Sequence[str]) -> Iterator[str]:
    rows = [(name, found.aftermath) for name in hardest if (found := _measures(run, name)) and found.firings]
    if not rows:
        return
    yield f"<h2>After a fault: {escape(run.agent)}</h2><p class='soft'>What the agent did in the three steps that followed.</p>"
    key = "".join(
        f'<span><i style="background:var(--r{index})"></i>{escape(reaction)}</span>'
        for index, reaction in enumerate(REACTIONS)
    )
    yield f'<div class="key">{key}</div>' + _card(aftermath(rows, title="Steps after a fault"))


def _attacks(run: RunReport) -> Iterator[str]:
    rows = [_attack_cells(arm) for arm in run.arms if arm.measures.attackable.part]
    if rows:
        yield f"<h2>Planted instructions: {escape(run.agent)}</h2>"
        yield "<p class='soft'>An attack counts where it landed: where the agent read it. The task is graded apart.</p>"
        yield _card(_rows(rows))


def _attack_cells(arm: ArmReport) -> dict[str, str]:
    found = arm.measures
    return {
        "arm": arm.name,
        "episodes": str(found.attackable.part),
        "landed": _percent(found.landed),
        "won, of those landed": _percent(found.attack_success),
        "from, to": _range(found.attack_success) or "-",
        "task done": _percent(found.success),
        "from, to ": _range(found.success) or "-",
    }


def _table(run: RunReport) -> str:
    return _rows([_cells(arm) for arm in run.arms])


def _rows(rows: Sequence[Mapping[str, str]], first: str = "arm") -> str:
    # A column in which nothing is ever said is left out.
    every = list(dict.fromkeys(heading for row in rows for heading in row))
    headings = [heading for heading in every if heading == first or any(row.get(heading, "-") != "-" for row in rows)]
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(row.get(heading) or NONE)}</td>' for heading in headings)}</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cells(arm: ArmReport) -> dict[str, str]:
    found = arm.measures
    versus = None if arm.name == CLEAN else found.versus
    k = max(found.at_least_once, default=0)
    return {
        "arm": arm.name,
        "episodes": str(found.episodes),
        "success": _percent(found.success),
        "from, to": _range(found.success),
        f"pass@{k}": f"{found.at_least_once[k]:.0%}" if k > 1 else "-",
        f"pass^{k}": f"{found.every_time[k]:.0%}" if k > 1 else "-",
        "points against clean": _signed(versus.difference.mean * 100) if versus else "-",
        "from, to ": " to ".join(_signed(end * 100) for end in versus.difference.interval) if versus else "-",
        "p (Holm)": "-"
        if arm.p_adjusted is None
        else f"{arm.p_adjusted:.3f}"
        if arm.p_adjusted >= 0.001
        else "< 0.001",
        "fired": "-" if arm.control else _percent(found.fired),
        "recovered": _percent(found.recovery),
        "extra calls": _signed(found.extra_calls.mean) if found.extra_calls else "-",
        "extra tokens": _tokens(found),
        "runaway": _count(found.runaway),
        "false success": _count(found.false_success),
        "false failure": _count(found.false_failure),
        "doubled writes": _count(found.duplicate_writes),
        "abstention": _percent(found.abstention),
        "attacks landed": _percent(found.landed) if found.attackable.part else "-",
        "attacks won": _percent(found.attack_success),
        "solvability": ", ".join(f"{count} {label}" for label, count in arm.labelled.items()) or "-",
    }


def _tokens(found: Measures) -> str:
    if found.extra_tokens is None or not found.tokens:
        return "-"
    return f"{found.extra_tokens.mean:+,.0f}".replace("-", "−")


def _count(share: Share) -> str:
    return str(share.part) if share.part else "-"


def _worst(run: RunReport) -> Iterator[str]:
    shown = worst(run)
    if shown:
        yield f"<h2>Worst trajectories: {escape(run.agent)}</h2>"
        yield "<p class='soft'>They went wrong where their clean twins went right; the run folder has them whole.</p>"
        yield from (episode(found) for found in shown)


_DOTS = (("dot", "estimate"), ("line", "95 % interval"))
_CURVES = (("dot", "success"), ("band", "95 % interval"), ("dash", "success, clean"))
_BARS = (
    ("bar", "share that recovered"),
    ("thin", "its 95 % interval"),
    ("dot", "extra calls"),
    ("line", "their 95 % interval"),
)


def _key(marks: Sequence[tuple[str, str]], report: Report | None = None) -> str:
    """Return the legend of a chart: what its marks stand for, and (of several agents) its colours."""
    spans = [f'<span><i class="k-{mark}"></i>{escape(words)}</span>' for mark, words in marks]
    if report is not None and len(report.runs) > 1:
        spans += [
            f'<span><i style="background:var(--s{index})"></i>{escape(run.agent)}</span>'
            for index, run in enumerate(report.runs)
        ]
    return f'<div class="key">{"".join(spans)}</div>'


def _repeated(report: Report) -> Iterator[str]:
    """Yield what there is to say of attempts that repeat others."""
    for run in report.runs:
        found = [arm.measures for arm in run.arms if arm.measures.identical]
        if found:
            words = identical_words(sum(one.identical for one in found), once=all(one.once for one in found))
            yield f'<div class="notice quiet">{escape(f"{run.agent}: {words}" if len(report.runs) > 1 else words)}</div>'


def _families(run: RunReport) -> Iterator[str]:
    if len(run.families) > 1:
        yield f"<h2>By family: {escape(run.agent)}</h2>"
        yield "<p class='soft'>Clean, and all arms with faults together.</p>"
        yield _card(_rows([_family_cells(family) for family in run.families], first="family"))


def _family_cells(family: FamilyReport) -> dict[str, str]:
    clean, bent = family.clean, family.perturbed
    cells = {
        "family": family.name,
        "cases": str(clean.success.cases),
        "success, clean": _percent(clean.success),
        "from, to": _range(clean.success) or "-",
    }
    if bent is None:
        return cells
    difference = bent.versus.difference if bent.versus else None
    return {
        **cells,
        "perturbed": str(bent.episodes),
        "success, perturbed": _percent(bent.success),
        "from, to ": _range(bent.success) or "-",
        "points against clean": _signed(difference.mean * 100) if difference else "-",
        "from, to  ": " to ".join(_signed(end * 100) for end in difference.interval) if difference else "-",
        "fired": _percent(bent.fired),
        "recovered": _percent(bent.recovery),
        "false success": _count(bent.false_success),
        "false failure": _count(bent.false_failure),
        "doubled writes": _count(bent.duplicate_writes),
        "runaway": _count(bent.runaway),
    }


def _card(content: str) -> str:
    return f'<div class="card">{content}</div>'


def _percent(share: Share) -> str:
    return "-" if share.value is None else f"{share.value:.1%}"


def _range(share: Share) -> str:
    return "" if share.low is None or share.high is None else f"{100 * share.low:.0f} to {100 * share.high:.0f} %"


def _signed(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−")
