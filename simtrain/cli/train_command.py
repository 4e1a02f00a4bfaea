"""`simtrain train`: train a model by a recipe, and report how it does in held-out worlds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simtrain.cli.options import console, print_json
from simtrain.cli.shared_options import seeds_of

if TYPE_CHECKING:
    from simtrain.integrations.train.report import TrainingReport

HELP = """Train a model by a recipe, and report how it does in held-out worlds.

A recipe names a model, worlds and stages (sft, rejection, grpo). What is
finished is kept: the same command goes on where a killed one was. Models
are compared on the worlds for validation, and with --test on those for
the test. Needs the extras train and, for llama.cpp, llamacpp.

\b
Examples:
  simtrain train examples/training/sft.yaml --out runs/sft
  simtrain train examples/training/sft.yaml --out runs/sft --test
  simtrain train recipe.yaml --seed 1 --json
"""


def command(
    recipe: Annotated[Path, typer.Argument(help="A recipe.", metavar="RECIPE.yaml")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder to work in; goes on with what is there. [runs/NAME]")
    ] = None,
    seeds: Annotated[
        str | None, typer.Option("--seed", "-s", help="Only these of the recipe's seeds, such as 1 or 1..3.")
    ] = None,
    arm: Annotated[list[str] | None, typer.Option("--arm", help="Only this arm; may be repeated.")] = None,
    test: Annotated[
        bool, typer.Option("--test", help="Play the worlds for the test, once everything is chosen.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Train what is missing, play it, and print the report."""
    from simtrain.cli.progress import Parts
    from simtrain.integrations.train.recipe import in_recipe, load_recipe
    from simtrain.integrations.train.watching import TrainingWatch
    from simtrain.integrations.train.working import train

    found = load_recipe(recipe)
    folder = out or Path("runs") / found.name
    with in_recipe(recipe), Parts(quiet=as_json) as parts:
        report = train(
            found,
            folder,
            seeds=seeds_of(seeds),
            arms=arm or (),
            split="test" if test else "validation",
            watch=TrainingWatch(parts.begin, parts.step),
        )
    if as_json:
        print_json(report.data())
        return
    _print(report)
    console().print(f"Report: {folder / f'{report.split}.html'}")


def _print(report: TrainingReport) -> None:
    from rich.table import Table

    from simtrain.integrations.train.tables import gain_table, success_table

    for title, (headings, rows) in (
        (f"solved in the worlds for {report.split}", success_table(report)),
        ("better by points, at the same cases", gain_table(report)),
    ):
        table = Table(title=title)
        for heading in headings:
            table.add_column(heading, justify="left" if heading in ("model", "than", "condition") else "right")
        for row in rows:
            table.add_row(*(row[heading] for heading in headings))
        if rows:
            console().print(table)
