"""The tables that commands print: at most 80 columns wide without breaking a word, with their headings explained
below.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from simtrain.values.types import JsonObject
    from simtrain.view.figures import GroupFigures


WIDTH = 80
"""Terminal columns that every table fits in."""

LONGEST = 33
"""Columns for the names of rows, which every table can spare next to its other columns."""


LONGEST_AGENT = 48
"""Columns for the names of agents, which hold those of models."""


def plain_table(*headings: str, title: str | None = None, legend: str | None = None) -> Table:
    """Return an empty table without vertical lines, whose first column is never broken; `legend` explains the headings."""
    from rich import box
    from rich.table import Table

    table = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
        title=title,
        title_justify="left",
        # One blank line below, since tables are often printed one after the other.
        caption=f"{legend}\n" if legend else None,
        caption_justify="left",
        caption_style="dim",
    )
    for index, heading in enumerate(headings):
        table.add_column(heading, no_wrap=index == 0, overflow="fold")
    return table


def figures_table(*headings: str, title: str | None = None, legend: str | None = None) -> Table:
    """Return a table of figures, the name first; all other columns are aligned right and never broken."""
    table = plain_table(*headings, title=title, legend=legend)
    for column in table.columns[1:]:
        column.justify, column.no_wrap = "right", True
    return table


def name_rows(names: Iterable[str], *, most: int) -> Iterator[tuple[str | None, str]]:
    """Yield for each name the row that heads its group (None for no new one), and the text of its own row.

    Names stay whole if each has at most `most` characters. Otherwise names are grouped below their folder, and one
    that is still too long loses its middle.
    """
    names = list(names)
    if all(len(name) <= most for name in names):
        yield from ((None, name) for name in names)
        return
    head = ""
    for name in names:
        folder, slash, rest = name.rpartition("/")
        yield (short(folder, most) if slash and folder != head else None), short(f"  {rest}" if slash else name, most)
        head = folder


def short(name: str, most: int = LONGEST) -> str:
    """Return a name in at most this many columns: a longer one loses its middle."""
    from rich.cells import cell_len, set_cell_size

    # In terminal columns, since Chinese characters take two.
    if cell_len(name) <= most:
        return name
    # The end is kept because names differ most there: variants, numbers, file endings.
    last = name[-11:]
    return f"{set_cell_size(name[:most], most - 1 - cell_len(last)).rstrip()}…{last}"


def parted(text: str, most: int) -> str:
    """Return a text whose words have at most `most` characters: longer ones, which are paths, are wrapped after a slash."""
    return " ".join(word if len(word) <= most else "\n".join(_path_lines(word, most)) for word in text.split(" "))


def _path_lines(path: str, most: int) -> Iterator[str]:
    line = ""
    for part in re.findall(r"[^/]*/|[^/]+", path):
        if line and len(line + part) > most:
            yield line
            line = ""
        line += part
    yield line


def rows_table(rows: Sequence[Mapping[str, object]], columns: Sequence[str], *, legend: str | None = None) -> Table:
    """Return some columns of rows, values unchanged."""
    table = plain_table(*columns, legend=legend)
    for row in rows:
        table.add_row(*(str(row.get(column, "")) for column in columns))
    return table


def result_table(summary: JsonObject) -> Table:
    """Return a run's figures: a row for each family and one for all, and below them why graders gave no value."""
    from rich.text import Text

    total = summary["total"]
    stops = ", ".join(f"{count} {reason}" for reason, count in total["stops"].items() if reason != "answered")
    legend = (
        "n: episodes; success: share with full reward, and its 95 % interval over cases in percent; reward, steps: means; "
        f"other: ended without an answer{f' ({stops})' if stops else ''}"
    )
    table = figures_table(
        "scenario", "n", "success", "95 %", "reward", "steps", "other", title="Results", legend=legend
    )
    scenarios = summary["scenarios"]
    rows = name_rows(scenarios, most=LONGEST)
    for (head, shown), facts in zip(rows, scenarios.values(), strict=True):
        if head is not None:
            table.add_row(head)
        table.add_row(shown, *_cells(facts))
    if len(scenarios) > 1:
        table.add_section()
        table.add_row("all", *_cells(total))
    if reasons := ungraded(summary):
        table.caption = Text("\n".join([legend, "", *reasons, ""]))
    return table


def agents_table(suites: Mapping[str, Mapping[str, GroupFigures | None]]) -> Table:
    """Return the figures of several agents by suite, a row for each agent; None for one that has played nothing of a suite."""
    legend = "n: episodes; success: share with full reward, and its 95 % interval over cases in percent"
    table = figures_table("suite, agent", "n", "success", "95 %", title="Results", legend=legend)
    for suite, agents in suites.items():
        table.add_row(short(suite, LONGEST_AGENT))
        for agent, found in agents.items():
            table.add_row(short(f"  {agent}", LONGEST_AGENT), *(["-"] * 3 if found is None else _agent_cells(found)))
        table.add_section()
    return table


def _agent_cells(found: GroupFigures) -> list[str]:
    low, high = found.interval
    interval = "-" if low is None or high is None else f"{100 * low:.0f}–{100 * high:.0f}"
    return [f"{found.episodes:,}", _percent(found.success), interval]


def ungraded(summary: JsonObject) -> list[str]:
    """Return why graders gave no value, a line for each family where some gave none."""
    lines: list[str] = []
    for name, facts in summary["scenarios"].items():
        why = "; ".join(f"{count} x {reason}" for reason, count in facts.get("ungraded", {}).items())
        if why:
            lines.append(f"{name}: {facts['episodes'] - facts['graded']} without a reward: {why}")
    return lines


def _cells(facts: JsonObject) -> list[str]:
    low, high = facts["success_low"], facts["success_high"]
    return [
        str(facts["episodes"]),
        _percent(facts["success"]),
        f"{100 * low:.0f}–{100 * high:.0f}" if low is not None else "-",
        _number(facts["mean_reward"]),
        _number(facts["mean_steps"]),
        str(sum(count for reason, count in facts["stops"].items() if reason != "answered")),
    ]


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
