"""Print what `make bench` measured beside what was recorded last: `python benchmarks/change.py`, and `--keep` records it instead.

Compared are ratios: a figure as a multiple of its floor in the same run, or of the time that a fixed piece of work takes there. They stay
about the same on another machine, or on a busy one. Nothing fails here: the table is for a person to read.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from page import RECORD

LAST = RECORD.with_name("last.json")


def ratios(recorded: dict[str, Any]) -> dict[str, float]:
    """Each figure's ratio, under the names of its benchmark, of what it is a part of, and its own."""
    found: dict[str, float] = {}
    for title, figures in sorted(recorded["benchmarks"].items()):
        whole = ""
        for figure in figures:
            part = figure["name"].startswith(" ")
            whole = whole if part else figure["name"]
            name = f"{whole}: {figure['name'].strip()}" if part else whole
            found[f"{title} / {name}"] = figure["ratio"]
    return found


def table(before: dict[str, float], now: dict[str, float]) -> list[str]:
    """A line for each figure of either run, and its change."""
    names = [*now, *(name for name in before if name not in now)]
    width = max((len(name) for name in names), default=0)
    head = f"{'ratio to the floor, or as it is':<{width}}  {'before':>9}  {'now':>9}  {'change':>7}"
    return [head, *(_row(name, width, before.get(name), now.get(name)) for name in names)]


def _row(name: str, width: int, before: float | None, now: float | None) -> str:
    cells = ["-" if value is None else f"{value:.4g}" for value in (before, now)]
    return f"{name:<{width}}  {cells[0]:>9}  {cells[1]:>9}  {_change(before, now):>7}"


def _change(before: float | None, now: float | None) -> str:
    if before is None:
        return "new"
    if now is None:
        return "gone"
    if not before:
        return f"{now:+.3g}" if now else "same"
    # Less than half a per cent is none.
    return f"{now / before - 1:+.0%}" if abs(now / before - 1) >= 0.005 else "same"


def main() -> None:
    """Print the table, or keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true", help=f"write {LAST.name}, with which later runs are compared")
    given = parser.parse_args()
    if not RECORD.exists():
        parser.error("nothing was measured: run `make bench`")
    now = ratios(json.loads(RECORD.read_text()))
    if given.keep:
        LAST.write_text(json.dumps({name: float(f"{value:.4g}") for name, value in now.items()}, indent=1) + "\n")
        return
    before: dict[str, float] = json.loads(LAST.read_text()) if LAST.exists() else {}
    print("\n".join(table(before, now)))


if __name__ == "__main__":
    main()
