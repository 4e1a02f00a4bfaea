"""The tables that commands print: readable on 80 columns, names never cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from rich.table import Table

    from simtrain.types import JsonObject


def plain_table(*headings: str, title: str | None = None) -> Table:
    """An empty table without vertical lines, whose first column is never broken."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, title=title, title_justify="left")
    for index, heading in enumerate(headings):
        table.add_column(heading, no_wrap=index == 0, overflow="fold")
    return table


def rows_table(rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> Table:
    """Some columns of rows as they are."""
    table = plain_table(*columns)
    for row in rows:
        table.add_row(*(str(row.get(column, "")) for column in columns))
    return table


def result_table(summary: JsonObject) -> Table:
    """A run's figures: a row for each family, and one for all. Stops are those that gave no answer."""
    table = plain_table("scenario", "n", "success", "95 %", "reward", "steps", "other stops", title="Results")
    for column in table.columns[1:6]:
        column.justify, column.no_wrap = "right", True
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
        f"{100 * low:.0f}–{100 * high:.0f} %" if low is not None else "-",
        _number(facts["mean_reward"]),
        _number(facts["mean_steps"]),
        ", ".join(f"{count} {reason}" for reason, count in facts["stops"].items() if reason != "answered"),
    ]


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
