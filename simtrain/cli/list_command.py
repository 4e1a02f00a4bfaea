"""`simtrain list`: what there is to name."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from simtrain.cli.options import console, print_json

if TYPE_CHECKING:
    from simtrain.types import JsonObject

HELP = """List what there is: scenarios, worlds, perturbations, agents, graders, exporters, world models.

Examples:

  simtrain list scenarios

  simtrain list graders --json
"""


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
    rows = _from_files(kind) if kind in ("scenarios", "worlds") else _from_table(kind)
    if as_json:
        print_json(rows)
        return
    from rich.table import Table

    table = Table(*(rows[0] if rows else {"name": ""}))
    for row in rows:
        table.add_row(*(str(value) for value in row.values()))
    console().print(table)


def _from_files(kind: Listed) -> list[JsonObject]:
    from simtrain.catalog import names
    from simtrain.documents import read_document

    rows: list[JsonObject] = []
    for name, path in names("scenarios" if kind == "scenarios" else "worlds").items():
        data = read_document(path).data
        about = str(data.get("description") or data.get("prompt") or "").strip().splitlines()
        shown = {"name": name, "world": data.get("world")} if kind == "scenarios" else {"name": name, "kind": data.get("kind"), "tools": len(data.get("tools") or [])}
        rows.append({**shown, "about": about[0] if about else "", "file": str(path)})
    return rows


def _from_table(kind: Listed) -> list[JsonObject]:
    from inspect import getdoc

    from simtrain.registry import known, resolve

    rows: list[JsonObject] = [{"name": name, "about": (getdoc(resolve(kind.value, name)) or "").splitlines()[0]} for name in known(kind.value)]
    return rows + (_packs() if kind == "perturbations" else [])


def _packs() -> list[JsonObject]:
    from simtrain.catalog import names
    from simtrain.documents import read_document

    return [{"name": name, "about": f"pack: {read_document(path).data.get('description', '')}"} for name, path in names("perturbations").items()]
