"""The report of a drill as one HTML page: no script, no external resources, all text of agents and worlds escaped."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from simtrain.drills.aftermath import REACTIONS, Reaction
from simtrain.drills.charts import ChartRow, aftermath, forest, recovery, severity_curve
from simtrain.drills.delays import delays
from simtrain.drills.measures import Measures, Share, identical_words
from simtrain.drills.report import ArmReport, FamilyReport, Report, RunReport, worst
from simtrain.files.jsonl import write_whole
from simtrain.files.pages.templates import style, templates
from simtrain.values.arm import CLEAN
from simtrain.values.types import encode

NONE = "-"

MOST_FIXES = 12

TEMPLATES = Path(__file__).parent / "templates"

Table: TypeAlias = tuple[list[str], Sequence[Mapping[str, str]]]
"""Headings and rows."""

MOST_STEPS = 40
LONGEST = 900


def page(report: Report) -> str:
    """Return the whole page."""
    arms = [arm for run in report.runs for arm in run.arms]
    hardest = _hardest(arms)
    return (
        templates(TEMPLATES)
        .get_template("report.html.jinja")
        .render(
            report=report,
            style=style(),
            agents=" against ".join(run.agent for run in report.runs),
            scenarios=sorted(
                {one.pairing[0] for run in report.runs for found in run.outcomes.values() for one in found}
            ),
            episodes=sum(arm.measures.episodes for arm in arms),
            repeated=_lines(report, _repeated),
            unfired=_lines(report, lambda run: run.unfired),
            spared=_lines(report, lambda run: run.spared),
            hardest=hardest,
            severity=max((arm.severity for arm in arms if not arm.control and arm.severity is not None), default=None),
            dots=(("dot", "estimate"), ("line", "95 % interval")),
            costs=forest(_degradation(report, hardest), title="Paired difference in success by perturbation"),
            between=forest(_between(report, hardest), title="Difference between the agents by arm"),
            curves=list(_curves(report)),
            recoveries=recovery([(name, [_measures(run, name) for run in report.runs]) for name in hardest]),
            aftermaths=[(run, aftermath(rows)) for run in report.runs if (rows := _aftermath(run, hardest))],
            reactions=REACTIONS,
            attacks=_attacks,
            arms=_arms,
            families=_families,
            worst=worst,
            delays=delays,
            most_fixes=MOST_FIXES,
            most_steps=MOST_STEPS,
            cut=cut,
            encode=encode,
            percent=_percent,
            interval=_range,
            signed=_signed,
        )
    )


def write_report(report: Report, folder: Path, *, stem: str = "drill") -> Path:
    """Write `stem`.json for programs and `stem`.html for people into a folder; return the path of the page. Raises InputError."""
    write_whole(folder / f"{stem}.json", report.facts())
    write_whole(folder / f"{stem}.html", page(report))
    return folder / f"{stem}.html"


def _lines(report: Report, of: Callable[[RunReport], Iterable[str]]) -> list[str]:
    """Return the lines about each run, with its agent if there are several."""
    several = len(report.runs) > 1
    return [f"{run.agent}: {line}" if several else line for run in report.runs for line in of(run)]


def _repeated(run: RunReport) -> Iterator[str]:
    """Yield the notice about attempts that repeat others."""
    found = [arm.measures for arm in run.arms if arm.measures.identical]
    if found:
        yield identical_words(sum(one.identical for one in found), once=all(one.once for one in found))


def _hardest(arms: Sequence[ArmReport]) -> list[str]:
    """Return, for each set of perturbations, the arm with the greatest severity."""
    found: dict[str, ArmReport] = {}
    for arm in arms:
        known = found.get(arm.what)
        if not arm.control and (known is None or (arm.severity or 0) > (known.severity or 0)):
            found[arm.what] = arm
    return [arm.name for arm in found.values()]


def _measures(run: RunReport, name: str) -> Measures | None:
    arm = run.arm(name)
    return arm.measures if arm else None


def _degradation(report: Report, hardest: Sequence[str]) -> list[ChartRow]:
    rows = [
        (
            name,
            [
                found.versus.difference if (found := _measures(run, name)) and found.versus else None
                for run in report.runs
            ],
        )
        for name in hardest
    ]
    return sorted(rows, key=lambda row: min((found.mean for found in row[1] if found), default=0.0))


def _between(report: Report, hardest: Sequence[str]) -> list[ChartRow]:
    return [(name, [report.compared[name].difference]) for name in (CLEAN, *hardest) if name in report.compared]


def _curves(report: Report) -> Iterator[str]:
    kinds = dict.fromkeys(arm.what for run in report.runs for arm in run.arms if arm.severity is not None)
    for what in kinds:
        points = [
            {arm.severity: arm.measures.success for arm in run.arms if arm.what == what and arm.severity is not None}
            for run in report.runs
        ]
        if max(len(found) for found in points) > 1:
            clean = [run.clean.success.value for run in report.runs]
            yield severity_curve(what, list(zip(points, clean, strict=True)))


def _aftermath(run: RunReport, hardest: Sequence[str]) -> list[tuple[str, Sequence[Mapping[Reaction, int]]]]:
    return [(name, found.aftermath) for name in hardest if (found := _measures(run, name)) and found.firings]


def _table(rows: Sequence[Mapping[str, str]], first: str) -> Table | None:
    """Return a table of these rows, without columns that are empty throughout; None without rows."""
    every = dict.fromkeys(heading for row in rows for heading in row)
    headings = [heading for heading in every if heading == first or any(row.get(heading, "-") != "-" for row in rows)]
    return (headings, [{heading: row.get(heading) or NONE for heading in headings} for row in rows]) if rows else None


def _attacks(run: RunReport) -> Table | None:
    return _table([_attack_cells(arm) for arm in run.arms if arm.measures.attackable.part], "arm")


def _arms(run: RunReport) -> Table | None:
    return _table([_cells(arm) for arm in run.arms], "arm")


def _families(run: RunReport) -> Table | None:
    return _table([_family_cells(family) for family in run.families], "family")


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


def _family_cells(family: FamilyReport) -> dict[str, str]:
    clean, perturbed = family.clean, family.perturbed
    cells = {
        "family": family.name,
        "cases": str(clean.success.cases),
        "success, clean": _percent(clean.success),
        "from, to": _range(clean.success) or "-",
    }
    if perturbed is None:
        return cells
    difference = perturbed.versus.difference if perturbed.versus else None
    return {
        **cells,
        "perturbed": str(perturbed.episodes),
        "success, perturbed": _percent(perturbed.success),
        "from, to ": _range(perturbed.success) or "-",
        "points against clean": _signed(difference.mean * 100) if difference else "-",
        "from, to  ": " to ".join(_signed(end * 100) for end in difference.interval) if difference else "-",
        "fired": _percent(perturbed.fired),
        "recovered": _percent(perturbed.recovery),
        "false success": _count(perturbed.false_success),
        "false failure": _count(perturbed.false_failure),
        "doubled writes": _count(perturbed.duplicate_writes),
        "runaway": _count(perturbed.runaway),
    }


def _tokens(found: Measures) -> str:
    if found.extra_tokens is None or not found.tokens:
        return "-"
    return f"{found.extra_tokens.mean:+,.0f}".replace("-", "−")


def _count(share: Share) -> str:
    return str(share.part) if share.part else "-"


def _percent(share: Share) -> str:
    return "-" if share.value is None else f"{share.value:.1%}"


def _range(share: Share) -> str:
    return "" if share.low is None or share.high is None else f"{100 * share.low:.0f} to {100 * share.high:.0f} %"


def _signed(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−")


def cut(text: str) -> str:
    """Return a text, cut if it is too long for a page."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text) - LONGEST:,} more letters)"
