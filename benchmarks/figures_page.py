"""Write what `make bench` measured as a page beside the record, benchmarks/figures.html, in the look of all pages.

Each figure stands beside its target, and beside what was recorded last.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from change import LAST, ratios
from page import RECORD

from simtrain.files.pages.templates import style, templates

PAGE = RECORD.with_suffix(".html")


def page(recorded: dict[str, Any], before: dict[str, float]) -> str:
    """The whole page."""
    now = ratios(recorded)
    # In the same order as the figures.
    changes = iter([_change(before.get(name), value) for name, value in now.items()])
    benchmarks = [
        (title, [{**figure, "change": next(changes), "met": _met(figure)} for figure in figures])
        for title, figures in sorted(recorded["benchmarks"].items())
    ]
    missed = sum(figure["met"] is False for _, figures in benchmarks for figure in figures)
    targets = sum(figure["met"] is not None for _, figures in benchmarks for figure in figures)
    template = templates(Path(__file__).parent).get_template("figures_page.html.jinja")
    return template.render(style=style(), benchmarks=benchmarks, missed=missed, targets=targets)


def _met(figure: dict[str, Any]) -> bool | None:
    if figure["target"] is None:
        return None
    return figure["value"] >= figure["target"] if figure["more"] else figure["value"] <= figure["target"]


def _change(before: float | None, now: float) -> str:
    return "new" if before is None else f"{now / before - 1:+.0%}" if before else ""


def main() -> None:
    """Write the page."""
    before = json.loads(LAST.read_text()) if LAST.exists() else {}
    PAGE.write_text(page(json.loads(RECORD.read_text()), before))
    print(f"As a page: {PAGE}")


if __name__ == "__main__":
    main()
