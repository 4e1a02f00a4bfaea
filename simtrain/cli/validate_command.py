"""`simtrain validate`: prove scenario families."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from simtrain.cli.options import console, print_json, report

if TYPE_CHECKING:
    from simtrain.errors import InputError
    from simtrain.proving import Proof

HELP = """Prove scenario families.

The oracle earns 1 on every case, agents that do nothing do not, the gold
depends on the world and leaks nowhere, each grader can fail. Without a name,
all that ships. Exit code 1 when a family fails, 2 when a file cannot be used.

\b
Examples:
  simtrain validate helpdesk
  simtrain validate my_scenario.yaml --cases 5 --json
"""


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Families, suites, files or folders; none: all that ships.", metavar="[NAME...]"),
    ] = None,
    cases: Annotated[
        int | None, typer.Option("--cases", min=1, help="Cases of each family, sampled by the seed; all without it.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the sample.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print a list of objects with `name` and `ok`.")] = False,
) -> None:
    """Prove each family, whatever the others came to, then print all."""
    proofs: list[Proof] = []
    unusable: list[InputError] = []
    _prove_all(names or [], cases, seed, quiet=as_json, proofs=proofs, unusable=unusable)
    if as_json:
        print_json([proof.facts() for proof in proofs])
    elif len(proofs) > len(unusable):
        _print(proofs)
    for error in unusable:
        report(str(error))
    if any(proof.problems for proof in proofs):
        sys.exit(2 if unusable else 1)


def _prove_all(
    names: list[str], cases: int | None, seed: int, *, quiet: bool, proofs: list[Proof], unusable: list[InputError]
) -> None:
    import asyncio

    from simtrain.assembly import load_scenario_file
    from simtrain.catalog import find_scenarios, shipped_scenarios
    from simtrain.cli.progress import Counting
    from simtrain.errors import InputError
    from simtrain.proving import Proof, prove

    files = {family: path for name in names for family, path in find_scenarios(name).items()} or shipped_scenarios()
    with Counting("proving", total=len(files), quiet=quiet) as counting:
        for family, path in files.items():
            try:
                proofs.append(asyncio.run(prove(load_scenario_file(path, family), cases=cases, seed=seed)))
            except InputError as error:
                unusable.append(error)
                proofs.append(Proof(family, problems=[str(error)]))
            counting.advance()


def _print(proofs: list[Proof]) -> None:
    from simtrain.cli.tables import plain_table

    table = plain_table("family", "proved", "cases", "calls", "problems")
    for proof in proofs:
        fewest, most = proof.calls
        shown = "\n".join(proof.problems[:3]) + (
            f"\n... and {len(proof.problems) - 3} more" if len(proof.problems) > 3 else ""
        )
        calls = f"{fewest}–{most}" if fewest != most else str(fewest)
        table.add_row(proof.name, "NO" if proof.problems else "yes", str(proof.cases), calls, shown)
    console().print(table)
