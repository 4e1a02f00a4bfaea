"""`simtrain validate`: prove scenario families, clean or under perturbations."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simtrain.cli.completing import scenario_names
from simtrain.cli.options import console, print_json, report
from simtrain.values.errors import InputError

if TYPE_CHECKING:
    from simtrain.validation.prove import Proof

HELP = """Prove scenario families.

The oracle earns 1 on every case, idle agents do not, the gold depends on the
world and leaks nowhere, and each grader can fail. Without a name, all built-in
families. Exit code 1 if a family fails, 2 if a file cannot be used.

With --perturbations it proves instead that the tasks can still be done under
perturbations: for each case and perturbation, a search with full knowledge
finds calls that earn full reward. Exit code 1 if too few pairs are proved.
With --agent it also reports how many of the proved pairs an agent solves.

\b
Examples:
  simtrain validate helpdesk
  simtrain validate my_scenario.yaml --cases 5 --json
  simtrain validate helpdesk --html proofs.html
  simtrain validate helpdesk --perturbations flaky_network
  simtrain validate -p silent_lies -p dirty_data --workers 4 --traces p.jsonl
  simtrain validate -p catalogue --alone --agent resilient --agent naive
"""


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Families, suites, files or folders; none: all that ships.",
            metavar="[NAME...]",
            autocompletion=scenario_names,
        ),
    ] = None,
    cases: Annotated[
        int | None, typer.Option("--cases", min=1, help="Cases of each family, sampled by the seed; all without it.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the sample.")] = 0,
    packs: Annotated[
        list[str] | None,
        typer.Option("--perturbations", "-p", help="A pack to survive; may be repeated.", metavar="PACK"),
    ] = None,
    every_case: Annotated[bool, typer.Option("--all", help="With packs: every case of a family, not only 3.")] = False,
    at_least: Annotated[
        float, typer.Option("--at-least", min=0, max=1, help="With packs: the share to be proved.")
    ] = 0.7,
    workers: Annotated[int, typer.Option("--workers", min=1, help="With packs: processes.")] = 1,
    traces: Annotated[
        Path | None, typer.Option("--traces", help="With packs: write the proofs to this JSONL file.")
    ] = None,
    agents: Annotated[
        list[str] | None,
        typer.Option("--agent", help="With packs: an agent that plays the same pairs; may be repeated."),
    ] = None,
    alone: Annotated[
        bool, typer.Option("--alone", help="With packs: each perturbation alone, no pack as a whole.")
    ] = False,
    html: Annotated[Path | None, typer.Option("--html", help="Write the results to this HTML page too.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a list of objects with `name` and `ok`.")] = False,
) -> None:
    """Prove each family, whatever the results of the others, then print all."""
    if html is not None and not html.parent.is_dir():
        # Before hours of proving.
        raise InputError("there is no such folder", remedy="make it first", file=html.parent)
    if packs:
        from simtrain.cli.surveying import survey_packs
        from simtrain.runs.solvability.survey import CASES, Job

        sampled, players = None if every_case else cases or CASES, tuple(agents or ())
        families = _families(names or []).items()
        jobs = [Job(file, name, pack, sampled, seed, players, alone) for name, file in families for pack in packs]
        survey_packs(jobs, players, at_least=at_least, workers=workers, traces=traces, html=html, as_json=as_json)
        return
    proofs: list[Proof] = []
    unusable: list[InputError] = []
    _prove_all(names or [], cases, seed, quiet=as_json, proofs=proofs, unusable=unusable)
    if html is not None:
        from simtrain.files.jsonl import write_whole
        from simtrain.validation.page import families_page

        write_whole(html, families_page(proofs))
    if as_json:
        print_json([proof.facts() for proof in proofs])
    elif len(proofs) > len(unusable):
        _print(proofs)
    # A mistake in a world is that of each family that plays in it.
    for text in dict.fromkeys(map(str, unusable)):
        report(text)
    if any(proof.problems for proof in proofs):
        sys.exit(2 if unusable else 1)


def _prove_all(
    names: list[str], cases: int | None, seed: int, *, quiet: bool, proofs: list[Proof], unusable: list[InputError]
) -> None:
    import asyncio

    from simtrain.cli.progress import Counting
    from simtrain.scenarios.load import load_scenario_file
    from simtrain.validation.prove import Proof, prove

    files = _families(names)
    with Counting("proving", total=len(files), quiet=quiet) as counting:
        for family, path in files.items():
            try:
                proofs.append(asyncio.run(prove(load_scenario_file(path, family), cases=cases, seed=seed)))
            except InputError as error:
                unusable.append(error)
                # A file that cannot be read fails like a family that proves nothing, and the others are still proved.
                proofs.append(Proof(family, problems=[str(error)]))
            counting.advance()


def _families(names: list[str]) -> dict[str, Path]:
    from simtrain.scenarios.find import find_scenarios, shipped_scenarios

    return {family: path for name in names for family, path in find_scenarios(name).items()} or shipped_scenarios()


def _print(proofs: list[Proof]) -> None:
    from simtrain.cli.tables import plain_table, short

    legend = "proved: whether every proof holds for every case; cases: played; calls: fewest and most of the plan"
    table = plain_table("family", "proved", "cases", "calls", "problems", legend=legend)
    for proof in proofs:
        fewest, most = proof.calls
        shown = "\n".join(proof.problems[:3]) + (
            f"\n... and {len(proof.problems) - 3} more" if len(proof.problems) > 3 else ""
        )
        calls = f"{fewest}–{most}" if fewest != most else str(fewest)
        table.add_row(short(proof.name), "NO" if proof.problems else "yes", str(proof.cases), calls, shown)
    screen = console()
    screen.print(table)
    for proof in proofs:
        for warning in proof.warnings:
            screen.print(f"warning: {warning}", soft_wrap=True)
