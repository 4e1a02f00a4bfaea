"""The tables of a drill: its plan, its arms, two agents compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from simtrain.cli.tables import figures_table, name_rows, short
from simtrain.values.arm import CLEAN

if TYPE_CHECKING:
    from rich.table import Table

    from simtrain.drills.estimate import ArmEstimate
    from simtrain.drills.measures import Measures, Share, Versus
    from simtrain.drills.report import Report, RunReport
    from simtrain.values.types import Usage


ARM = 30
FAMILY = 25
"""Maximum characters of a name, so that a table fits 80 columns."""

_AGAINST = "diff: points against the clean twins, with its 95 % interval"
_REST = (
    "recov.: solved of those that a fault struck and whose clean twins were solved; false: episodes that claimed a success that was "
    "none; twice: episodes with a write made twice"
)


def arms_table(run: RunReport) -> Table:
    """Return an agent's figures, a row for each arm."""
    episodes = sum(arm.measures.episodes for arm in run.arms)
    title = f"{run.agent}: {episodes:,} episodes"
    legend = f"{_AGAINST}, * where it is significant (McNemar, Holm, 5 %); {_REST}"
    table = figures_table("arm", "success", "diff", "95 %", "recov.", "false", "twice", title=title, legend=legend)
    bundle = ""
    for arm in run.arms:
        first, slash, rest = arm.name.rpartition("/")
        if slash and first != bundle:
            table.add_row(short(first, ARM))
        bundle = first if slash else bundle
        # By the adjusted p: with twenty arms one would be significant by chance.
        star = "*" if arm.p_adjusted is not None and arm.p_adjusted < 0.05 else ""
        against = _cells(arm.measures, None if arm.name == CLEAN else arm.measures.versus, star)
        table.add_row(short(f"  {rest}" if slash else arm.name, ARM), _percent(arm.measures.success), *against)
    return table


def _cells(found: Measures, versus: Versus | None, star: str = "") -> list[str]:
    """Return the figures of episodes against their clean twins."""
    return [
        *([f"{versus.difference.mean * 100:+.0f}{star}", _interval(versus)] if versus else ["-", "-"]),
        _percent(found.recovery),
        str(found.false_success.part),
        str(found.duplicate_writes.part),
    ]


def attacks_table(run: RunReport) -> Table | None:
    """Return the results of planted instructions, a row for each arm that has them: landed of planted, won of landed, task done.

    None if there are none.
    """
    attacked = [arm for arm in run.arms if arm.measures.attackable.part]
    if not attacked:
        return None
    legend = "episodes: in which one was planted; landed: share in which the agent read it; won: share of these in which it got its way"
    title = f"{run.agent}: attacks"
    table = figures_table("attacks in", "episodes", "landed", "won", "task done", title=title, legend=legend)
    for arm in attacked:
        found = arm.measures
        won = f"{_percent(found.attack_success)} of {found.attack_success.whole}" if found.landed.part else "-"
        table.add_row(
            short(arm.name, ARM), str(found.attackable.part), _percent(found.landed), won, _percent(found.success)
        )
    return table


def families_table(run: RunReport) -> Table | None:
    """Return the families of a drill, clean against all faults together, a row for each; None for one alone."""
    # The row of a single family would repeat the total.
    if len(run.families) < 2 or run.perturbed is None:
        return None
    title, legend = f"{run.agent}: by family", f"clean, faults: success without and with faults; {_AGAINST}; {_REST}"
    headings = ("family", "clean", "faults", "diff", "95 %", "recov.", "false", "twice")
    table = figures_table(*headings, title=title, legend=legend)
    rows = name_rows((family.name for family in run.families), most=FAMILY)
    for (head, shown), family in zip(rows, run.families, strict=True):
        if head is not None:
            table.add_row(head)
        faults = family.perturbed
        against = [_percent(faults.success), *_cells(faults, faults.versus)] if faults else ["-"] * 6
        table.add_row(shown, _percent(family.clean.success), *against)
    return table


def compared_table(report: Report) -> Table:
    """Return the second agent against the first, in points of success, a row for each arm."""
    first, second = report.runs
    title = f"{second.agent} against {first.agent}"
    legend = "diff: points of success, with its 95 % interval; worse, better: pairs; p: McNemar"
    table = figures_table("arm", "diff", "95 %", "worse", "better", "p", title=title, legend=legend)
    for name, versus in report.compared.items():
        table.add_row(
            short(name, ARM),
            f"{versus.difference.mean * 100:+.0f}",
            _interval(versus),
            str(versus.worse),
            str(versus.better),
            f"{versus.p:.3f}",
        )
    return table


def plan_table(agent: str, arms: Sequence[ArmEstimate], *, scripted: bool) -> Table:
    """Return the episodes that will be played, and their cost for a chat model."""
    title = f"Plan for {agent}" + (" (no model; what one would take)" if scripted else "")
    table = figures_table("arm", "episodes", "tokens in", "tokens out", "US $", title=title)
    for arm in arms:
        table.add_row(
            short(arm.name, ARM), str(arm.episodes), *(_tokens([arm.usage]) if arm.usage else ["unknown"] * 3)
        )
    table.add_section()
    known = [arm.usage for arm in arms if arm.usage is not None]
    table.add_row("all", str(sum(arm.episodes for arm in arms)), *_tokens(known))
    return table


def _tokens(usages: Sequence[Usage]) -> list[str]:
    """Return tokens in, tokens out and cost, summed up."""
    return [
        f"{sum(usage.prompt_tokens for usage in usages):,}",
        f"{sum(usage.completion_tokens for usage in usages):,}",
        f"{sum(usage.cost for usage in usages):,.2f}",
    ]


def _interval(versus: Versus) -> str:
    return "..".join(f"{end * 100:+.0f}" for end in versus.difference.interval)


def _percent(share: Share) -> str:
    return "-" if share.value is None else f"{share.value:.0%}"
