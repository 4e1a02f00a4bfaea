"""`simtrain curriculum`: show a ladder of levels over search worlds, or write it out for trainers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simtrain.cli.options import console, print_json
from simtrain.cli.tables import plain_table, rows_table
from simtrain.values.types import JsonObject, JsonValue, is_object

if TYPE_CHECKING:
    from simtrain.curricula.levels import Ladder

HELP = """Write out a curriculum of questions over search worlds.

A curriculum file names worlds by split, and levels: the kind of questions,
their measured difficulty, how much snippets reveal, and perturbations. Without
--out the levels are shown. With --out the folder gets scenario families for
`simtrain run`, their questions, prompts for trainers (prompts/SPLIT.jsonl),
and the index curriculum.json. A task that mentions a name of a later split, or
asks the same question, is left out.

To climb it by rewards, in Python: `for task in simtrain.climb("ladder")`.

\b
Examples:
  simtrain curriculum ladder
  simtrain curriculum ladder --out curricula/ladder
  simtrain curriculum mine.yaml --out curricula/mine --seed 3 --json
  simtrain run curricula/ladder/scenarios/train --agent chat:MODEL
"""


def command(
    curriculum: Annotated[str, typer.Argument(help="Curriculum file, or the name of a shipped one.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="New folder to write.")] = None,
    seed: Annotated[int, typer.Option("--seed", "-s", help="Seed of samples and of faults.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Show, or write and report."""
    from simtrain.curricula.levels import load_ladder

    ladder = load_ladder(curriculum)
    if out is None:
        if as_json:
            print_json(ladder.spec.model_dump(mode="json", by_alias=True, exclude_unset=True))
        else:
            _show(ladder)
        return
    written = _emit(ladder, out, seed, quiet=as_json)
    if as_json:
        print_json({"out": str(out), **written})


def _show(ladder: Ladder) -> None:

    legend = "hops, rows: of its questions; snippets: what they give away; measured: bounds of difficulty; goes wrong: perturbations"
    headings = ("level", "hops", "rows", "snippets", "measured", "goes wrong")
    table = plain_table(*headings, title=ladder.spec.description, legend=legend)
    for level in ladder.spec.levels:
        measured = ", ".join(f"{name} {low:g}-{high:g}" for name, (low, high) in level.difficulty.items())
        wrong = ", ".join(
            item if isinstance(item, str) else str(getattr(item, "pack", None) or getattr(item, "use", ""))
            for item in level.perturbations
        )
        asked = level.questions
        table.add_row(
            level.name,
            f"{asked.hops[0]}-{asked.hops[1]}",
            f"{asked.rows[0]}-{asked.rows[1]}",
            _leaks(level.web.get("snippets", "normal")),
            measured,
            wrong,
        )
    screen = console()
    screen.print(table)
    for split, worlds in ladder.spec.worlds.items():
        screen.print(f"{split}: {', '.join(worlds)}")


def _leaks(snippets: JsonValue) -> str:
    """Return how much snippets reveal: one mode, or shares of several."""
    if is_object(snippets):
        return ", ".join(f"{name} {share:g}" for name, share in snippets.items())
    return str(snippets)


def _emit(ladder: Ladder, out: Path, seed: int, *, quiet: bool) -> JsonObject:
    import asyncio
    from dataclasses import asdict

    from simtrain.cli.progress import Counting
    from simtrain.curricula.levels import LevelScenario
    from simtrain.curricula.writing import emit

    builds = len(ladder.spec.seeds) or 1
    total = builds * len(ladder.spec.levels) * sum(len(worlds) for worlds in ladder.spec.worlds.values())
    with Counting("families", total=total, quiet=quiet) as counting:

        def done(family: LevelScenario) -> None:
            counting.advance()

        emitted = asyncio.run(emit(ladder, out, seed=seed, on_family=done))
    written: JsonObject = asdict(emitted)
    if quiet:
        return written
    screen = console()
    rows = [asdict(family) for family in emitted.families]
    screen.print(rows_table(rows, ("scenario", "level", "tasks", "dropped")))
    for overlap in emitted.overlaps:
        one, other = overlap.splits
        screen.print(f"{one} and {other} share {len(overlap.names)} names, {len(overlap.questions)} questions")
    screen.print(f"Curriculum: {out}")
    return written
