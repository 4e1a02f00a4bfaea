"""`simtrain list`: the names of scenarios, worlds, packs and plug-ins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from simtrain.cli.options import console, print_json
from simtrain.cli.tables import rows_table, short

if TYPE_CHECKING:
    from simtrain.values.types import JsonObject

HELP = """List scenarios, worlds, packs and plug-ins of every kind.

Names are looked up in the working folder, in the folders on SIMTRAIN_PATH, and
among the built-in files; plug-ins also in entry points of other packages.
--json adds files, knobs and more; for tools and tables it builds every world.
KIND is scenarios, worlds, perturbations, packs, agents, graders, exporters,
world_models, paradigms, domains, world_kinds, sandboxes, transports,
argument_styles or handlers.

\b
Examples:
  simtrain list scenarios
  simtrain list graders --json
"""

COLUMNS = {"scenarios": ("name", "about"), "worlds": ("name", "kind", "about")}


NAME = 45
"""Columns of a name; names must stay whole, since users type them."""

KINDS = (
    "scenarios", "worlds", "perturbations", "packs", "agents", "graders", "exporters", "world_models", "paradigms", "domains",
    "world_kinds", "sandboxes", "transports", "argument_styles", "handlers",
)  # fmt: skip


def _kinds(incomplete: str) -> list[str]:
    return [kind for kind in KINDS if kind.startswith(incomplete)]


def command(
    kind: Annotated[str, typer.Argument(help="Which kind, as above.", metavar="KIND", autocompletion=_kinds)],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print names and one line about each."""
    from simtrain.cli.listing import packs, plugins, scenarios, world_files, worlds
    from simtrain.values.errors import InputError, nearest

    if kind not in KINDS:
        raise InputError(f"there is no kind {kind!r} to list", remedy=nearest(kind, KINDS))
    makers = {
        "scenarios": scenarios,
        "worlds": worlds if as_json else world_files,
        "packs": packs,
        "perturbations": lambda: [*plugins("perturbations"), *packs()],
        "world_kinds": lambda: plugins("worlds"),
    }
    rows = makers[kind]() if kind in makers else plugins(kind)
    if as_json:
        print_json(rows)
        return

    foreign = any(row.get("shipped") is False for row in rows)
    legend = "+ comes from another package" if foreign else None
    columns = COLUMNS.get(kind, ("name", "about"))
    console().print(rows_table([_shown(row, packs_alone=kind == "packs") for row in rows], columns, legend=legend))


def _shown(row: JsonObject, *, packs_alone: bool) -> JsonObject:
    """Return a row for people: packs, impossible families and other packages' plug-ins are marked."""

    mark = "pack: " if "severity" in row and not packs_alone else "(impossible) " if row.get("impossible") else ""
    name = short(str(row["name"]), NAME) + (" +" if row.get("shipped") is False else "")
    return {**row, "name": name, "about": f"{mark}{row['about']}"}
