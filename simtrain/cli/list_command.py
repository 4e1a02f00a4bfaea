"""`simtrain list`: what there is to name."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from simtrain.cli.options import console, print_json

if TYPE_CHECKING:
    from simtrain.types import JsonObject

HELP = """List scenarios, worlds, perturbations, agents, graders, ...

Names are looked up in the working folder, in the folders on SIMTRAIN_PATH, and
in what ships. --json adds files, knobs and more.

\b
Examples:
  simtrain list scenarios
  simtrain list graders --json
"""

COLUMNS = {"scenarios": ("name", "about"), "worlds": ("name", "kind", "tools", "about")}


class Listed(StrEnum):
    """What can be listed."""

    scenarios = "scenarios"
    worlds = "worlds"
    perturbations = "perturbations"
    agents = "agents"
    graders = "graders"
    exporters = "exporters"
    world_models = "world_models"


def command(
    kind: Annotated[Listed, typer.Argument(help="What to list.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print names and one line about each."""
    from simtrain.cli.listing import packs, plugins, scenarios, worlds

    makers = {
        Listed.scenarios: scenarios,
        Listed.worlds: worlds,
        Listed.perturbations: lambda: [*plugins("perturbations"), *packs()],
    }
    rows = makers[kind]() if kind in makers else plugins(kind.value)
    if as_json:
        print_json(rows)
        return
    from simtrain.cli.tables import rows_table

    console().print(rows_table([_shown(row) for row in rows], COLUMNS.get(kind.value, ("name", "about"))))


def _shown(row: JsonObject) -> JsonObject:
    """A row for people: lists are counted, a pack and an impossible family say so."""
    mark = "pack: " if "severity" in row else "(impossible) " if row.get("impossible") else ""
    counted: JsonObject = {name: len(row[name]) for name in ("tools",) if name in row}
    return {**row, **counted, "about": f"{mark}{row['about']}"}
