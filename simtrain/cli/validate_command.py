"""`simtrain validate`: prove scenario families."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from simtrain.cli.options import console, print_json

if TYPE_CHECKING:
    from simtrain.proving import Proof

HELP = """Prove scenario families: the oracle earns 1 on every case, agents that do nothing do not, the gold depends on the world and leaks nowhere,
each grader can fail. Without a name, all that ships.

Examples:

  simtrain validate helpdesk

  simtrain validate my_scenario.yaml --cases 5 --json
"""


def command(
    names: Annotated[list[str] | None, typer.Argument(help="Families, suites, files or folders; none: all that ships.", metavar="[NAME...]")] = None,
    cases: Annotated[int | None, typer.Option("--cases", help="Cases of each family, sampled by the seed; all without it.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the sample.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print a list of objects with `name` and `ok`.")] = False,
) -> None:
    """Prove each family; exit code 1 when one fails."""
    proofs = _prove_all(names or [], cases, seed, quiet=as_json)
    if as_json:
        print_json([proof.facts() for proof in proofs])
    else:
        _print(proofs)
    if any(proof.problems for proof in proofs):
        sys.exit(1)


def _prove_all(names: list[str], cases: int | None, seed: int, *, quiet: bool) -> list[Proof]:
    import asyncio

    from rich.console import Console
    from rich.progress import Progress

    from simtrain.assembly import load_scenario_file
    from simtrain.catalog import find_scenarios, shipped_scenarios
    from simtrain.errors import InputError
    from simtrain.proving import Proof, prove

    files = {family: path for name in names for family, path in find_scenarios(name).items()} or shipped_scenarios()
    proofs: list[Proof] = []
    with Progress(console=Console(stderr=True), disable=quiet or not sys.stderr.isatty()) as progress:
        task = progress.add_task("proving", total=len(files))
        for family, path in files.items():
            try:
                proofs.append(asyncio.run(prove(load_scenario_file(path, family), cases=cases, seed=seed)))
            except InputError as error:
                proofs.append(Proof(family, problems=[str(error)]))
            progress.advance(task)
    return proofs


def _print(proofs: list[Proof]) -> None:
    from rich.table import Table

    table = Table("family", "cases", "oracle calls", "proved", "problems")
    for proof in proofs:
        calls = f"{proof.calls[0]} to {proof.calls[1]}" if proof.calls[0] != proof.calls[1] else str(proof.calls[0])
        shown = "\n".join(proof.problems[:3]) + (f"\n... and {len(proof.problems) - 3} more" if len(proof.problems) > 3 else "")
        table.add_row(proof.name, str(proof.cases), calls, "no" if proof.problems else "yes", shown)
    console().print(table)
