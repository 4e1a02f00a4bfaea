"""The tables that commands print."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from rich.table import Table

    from simtrain.types import JsonObject


def result_table(summary: JsonObject) -> Table:
    """A run's figures: a row for each family, and one for all."""
    from rich.table import Table

    table = Table(title="Results", title_justify="left")
    table.add_column("scenario", no_wrap=True)
    for name in ("episodes", "success", "95 % interval", "reward", "steps"):
        table.add_column(name, justify="right")
    table.add_column("stops")
    scenarios = cast("dict[str, JsonObject]", summary["scenarios"])
    for name, facts in scenarios.items():
        table.add_row(name, *_cells(facts))
    if len(scenarios) > 1:
        table.add_section()
        table.add_row("all", *_cells(cast("JsonObject", summary["total"])))
    return table


def _cells(facts: JsonObject) -> list[str]:
    low, high = facts["success_low"], facts["success_high"]
    return [
        str(facts["episodes"]),
        _percent(facts["success"]),
        f"{low:.1%} to {high:.1%}" if low is not None else "-",
        _number(facts["mean_reward"]),
        _number(facts["mean_steps"]),
        ", ".join(f"{count} {reason}" for reason, count in facts["stops"].items()),
    ]


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
