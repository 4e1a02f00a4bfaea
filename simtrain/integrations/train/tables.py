"""The tables of a report, for the terminal and for the page."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from simtrain.integrations.train.comparison import Success
from simtrain.integrations.train.report import PlayedModel, TrainingReport, learnt_from
from simtrain.values.types import JsonObject

Table: TypeAlias = tuple[list[str], Sequence[Mapping[str, str]]]
"""Headings and rows."""


def success_table(report: TrainingReport) -> Table:
    """Return how many episodes were solved at each place of the recipe, under each condition."""
    rows = [
        {"model": place.name, "condition": name, **_cells(share)}
        for place, found in report.places().items()
        for name, share in report.shares(found)
    ]
    return ["model", "condition", "solved", "share", "95 % interval"], rows


def _cells(share: Success) -> dict[str, str]:
    return {
        "solved": f"{share.solved} of {share.episodes}",
        "share": f"{share.share:.1%}",
        "95 % interval": _interval(share.low, share.high, "{:.0%}"),
    }


def _interval(low: float | None, high: float | None, form: str) -> str:
    return "-" if low is None or high is None else f"{form.format(low)} to {form.format(high)}"


def gain_table(report: TrainingReport) -> Table:
    """Return by how many points each stage and arm does better, at the same cases."""
    rows = list[dict[str, str]]()
    for gain in report.gains():
        one = gain.estimate
        rows.append(
            {
                "model": gain.better,
                "than": gain.than,
                "condition": gain.condition,
                "points": f"{one.mean * 100:+.1f}",
                "95 % interval": _interval(one.low, one.high, "{:+.0%}").replace("%", ""),
                "pairs": str(one.n),
            }
        )
    return ["model", "than", "condition", "points", "95 % interval", "pairs"], rows


def family_table(report: TrainingReport) -> Table:
    """Return a row for each family, and a column for each place of the recipe."""
    places = report.places()
    rows: dict[str, dict[str, str]] = {}
    for place, found in places.items():
        for family, share in report.families(found):
            rows.setdefault(family, {"family": family})[place.name] = f"{share.solved} of {share.episodes}"
    return ["family", *(place.name for place in places)], list(rows.values())


def learnt_table(report: TrainingReport) -> Table:
    """Return what each model learnt from, and what that took."""
    headings = ["model", "seed", "episodes", "tokens", "trained tokens", "updates", "CPU seconds", "last loss"]
    rows = list[dict[str, str]]()
    for result in report.results:
        facts = learnt_from(result.trained.folder)
        if facts:
            cells = {heading: _figure(facts, heading) for heading in headings[2:]}
            rows.append({"model": name_of(result), "seed": str(result.trained.seed), **cells})
    return headings, rows


def _figure(facts: JsonObject, heading: str) -> str:
    value = facts.get(heading.lower().replace(" ", "_"))
    return f"{value:,.4g}" if isinstance(value, float) and value < 10 else f"{value:,.0f}" if value is not None else "-"


def name_of(result: PlayedModel) -> str:
    """Return the name of a model, without its seed."""
    one = result.trained
    return f"{one.arm} {one.stage}. {one.method}"
