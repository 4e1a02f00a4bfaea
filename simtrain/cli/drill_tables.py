"""The tables of a drill: its plan, its arms, two agents compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from simtrain.arm import CLEAN
from simtrain.cli.tables import plain_table

if TYPE_CHECKING:
    from rich.table import Table

    from simtrain.drilling.estimate import ArmEstimate
    from simtrain.drilling.measures import Share, Versus
    from simtrain.drilling.report import ArmReport, Report, RunReport


LONGEST = 30
"""Letters of a name, so that a table fits 80 columns."""


def arms_table(run: RunReport) -> Table:
    """An agent's figures, a row for each arm.

    `diff` is in points against the clean twins, with a star where the difference is significant (McNemar, Holm, 5 %), `false` counts
    episodes that claimed a success that was none, `twice` those with doubled writes.
    """
    episodes = sum(arm.measures.episodes for arm in run.arms)
    title = f"{run.agent}: {episodes:,} episodes"
    table = plain_table("arm", "success", "diff", "95 %", "recov.", "false", "twice", title=title)
    _right(table)
    bundle = ""
    for arm in run.arms:
        first, slash, rest = arm.name.rpartition("/")
        if slash and first != bundle:
            table.add_row(first)
        bundle = first if slash else bundle
        table.add_row(f"  {rest}" if slash else _short(arm.name), *_cells(arm))
    return table


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 12]}…{name[-11:]}"


def _cells(arm: ArmReport) -> list[str]:
    found, versus = arm.measures, None if arm.name == CLEAN else arm.measures.versus
    star = "*" if arm.p_adjusted is not None and arm.p_adjusted < 0.05 else ""
    return [
        _percent(found.success),
        f"{versus.difference.mean * 100:+.0f}{star}" if versus else "-",
        _interval(versus) if versus else "-",
        _percent(found.recovery),
        str(found.false_success.part),
        str(found.duplicate_writes.part),
    ]


def attacks_table(run: RunReport) -> Table | None:
    """How planted instructions fared, a row for each arm that has them: landed of those planted, won of those landed, the task done.

    None where none is planted.
    """
    attacked = [arm for arm in run.arms if arm.measures.attackable.part]
    if not attacked:
        return None
    table = plain_table("attacks in", "episodes", "landed", "won", "task done", title=f"{run.agent}: attacks")
    _right(table)
    for arm in attacked:
        found = arm.measures
        won = f"{_percent(found.attack_success)} of {found.attack_success.whole}" if found.landed.part else "-"
        table.add_row(
            _short(arm.name), str(found.attackable.part), _percent(found.landed), won, _percent(found.success)
        )
    return table


def families_table(run: RunReport) -> Table | None:
    """The families of a drill, clean against all faults together, a row for each; None for one alone."""
    if len(run.families) < 2 or run.perturbed is None:
        return None
    table = plain_table(
        "family", "clean", "faults", "diff", "95 %", "recov.", "false", "twice", title=f"{run.agent}: by family"
    )
    _right(table)
    for family in run.families:
        bent = family.perturbed
        versus = bent.versus if bent else None
        table.add_row(
            _short(family.name),
            _percent(family.clean.success),
            _percent(bent.success) if bent else "-",
            f"{versus.difference.mean * 100:+.0f}" if versus else "-",
            _interval(versus) if versus else "-",
            _percent(bent.recovery) if bent else "-",
            str(bent.false_success.part) if bent else "-",
            str(bent.duplicate_writes.part) if bent else "-",
        )
    return table


def compared_table(report: Report) -> Table:
    """The second agent against the first, in points of success, a row for each arm."""
    first, second = report.runs
    table = plain_table("arm", "diff", "95 %", "worse", "better", "p", title=f"{second.agent} against {first.agent}")
    _right(table)
    for name, versus in report.compared.items():
        table.add_row(
            _short(name),
            f"{versus.difference.mean * 100:+.0f}",
            _interval(versus),
            str(versus.worse),
            str(versus.better),
            f"{versus.p:.3f}",
        )
    return table


def plan_table(agent: str, arms: Sequence[ArmEstimate], *, scripted: bool) -> Table:
    """What will be played, and what a chat model would take for it."""
    title = f"Plan for {agent}" + (" (no model; what one would take)" if scripted else "")
    table = plain_table("arm", "episodes", "tokens in", "tokens out", "US $", title=title)
    _right(table)
    rows = [(arm.name, arm.episodes, arm.usage) for arm in arms]
    for name, episodes, usage in rows:
        if usage is None:
            table.add_row(name, str(episodes), "unknown", "unknown", "unknown")
        else:
            table.add_row(
                name, str(episodes), f"{usage.prompt_tokens:,}", f"{usage.completion_tokens:,}", f"{usage.cost:,.2f}"
            )
    known = [usage for _, _, usage in rows if usage is not None]
    table.add_section()
    table.add_row(
        "all",
        str(sum(episodes for _, episodes, _ in rows)),
        f"{sum(usage.prompt_tokens for usage in known):,}",
        f"{sum(usage.completion_tokens for usage in known):,}",
        f"{sum(usage.cost for usage in known):,.2f}",
    )
    return table


def _right(table: Table) -> None:
    for column in table.columns[1:]:
        column.justify, column.no_wrap = "right", True


def _interval(versus: Versus) -> str:
    return "..".join(f"{end * 100:+.0f}" for end in versus.difference.interval)


def _percent(share: Share) -> str:
    return "-" if share.value is None else f"{share.value:.0%}"
