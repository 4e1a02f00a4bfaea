"""`simtrain verify`: play the same calls on a real MCP server and on its stand-in."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simtrain.cli.options import console, print_json, report
from simtrain.errors import InputError

if TYPE_CHECKING:
    from simtrain.types import JsonObject

HELP = """Play the same calls on a real MCP server and on its stand-in.

Generated calls (valid, at the border, invalid; many depend on earlier ones)
go to both, and every difference between the replies is reported. Exit code 1
when agreement is below a threshold, 2 for bad input.

The calls really happen on the real server: where the stand-in is one of those
that ship, {root} and the like stand for a fresh folder in its command.

\b
Examples:
  simtrain verify memory --against mcp-server-memory
  simtrain verify filesystem --against "mcp-server-filesystem {root}"
  simtrain verify mine.yaml --against http://127.0.0.1:8000/mcp --out r.html
  simtrain verify notes.yaml --against "python notes.py" --pair "note-\\d+"
"""

SHOWN = 10


def command(
    name: Annotated[str, typer.Argument(help="A world or a captured manifest, by name or file.", metavar="STANDIN")],
    against: Annotated[str, typer.Option("--against", help="Command that starts the real server, or its URL.")],
    calls: Annotated[int, typer.Option("--calls", min=1, help="Calls to play.")] = 2000,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the calls.")] = 0,
    sequence: Annotated[
        int | None, typer.Option("--sequence", min=0, help="Play this sequence alone, as it was among all.")
    ] = None,
    overall: Annotated[float, typer.Option("--overall", min=0, max=1, help="Least agreement over all calls.")] = 0.95,
    per_tool: Annotated[float, typer.Option("--per-tool", min=0, max=1, help="Least agreement of each tool.")] = 0.85,
    server: Annotated[str | None, typer.Option("--server", help="One of the stand-in's servers.")] = None,
    pair: Annotated[
        list[str] | None,
        typer.Option(
            "--pair", help="Pattern of ids or times that may differ, one to one; repeatable.", metavar="REGEX"
        ),
    ] = None,
    parallel: Annotated[int, typer.Option("--parallel", min=1, max=64, help="Real servers at once.")] = 2,
    timeout: Annotated[float, typer.Option("--timeout", min=0.1, help="Seconds that a real call may take.")] = 30.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    out: Annotated[Path | None, typer.Option("--out", help="Write the report here: .json or .html.")] = None,
) -> None:
    """Verify, with a display when it takes long, then print."""
    import asyncio

    from simtrain.cli.progress import Counting
    from simtrain.serving.verify.findings import Thresholds
    from simtrain.serving.verify.playing import Options, verify
    from simtrain.serving.verify.report import check_ending, facts, write
    from simtrain.serving.verify.stand_in import stand_in
    from simtrain.serving.verify.subjects import subject_of

    if out is not None:
        check_ending(out)
    own = stand_in(name, server=server)
    subject = subject_of(own.name, manifest=own.world.manifest, server=server)
    options = Options(calls, seed, parallel, timeout, tuple(_pattern(text) for text in pair or ()), sequence)
    with Counting("verifying", total=calls if sequence is None else None, quiet=as_json) as counting:
        playing = verify(own, subject, against, options, on_call=counting.advance)
        findings = asyncio.run(playing)
    found = facts(findings, Thresholds(overall, per_tool))
    if out is not None:
        write(found, out)
    if as_json:
        print_json(found)
    else:
        _print(found, out)
    if found["problems"]:
        sys.exit(1)


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise InputError(f"the pattern {text!r} cannot be read: {error}", place="--pair") from None


def _print(found: JsonObject, out: Path | None) -> None:
    from simtrain.cli.tables import plain_table

    screen = console()
    table = plain_table("tool", "calls", "agree", "valid", "stateful", title=f"{found['name']} against the real server")
    for column in table.columns[1:]:
        column.justify = "right"
    for tool, figures in found["tools"].items():
        table.add_row(tool, *_cells(figures))
    table.add_section()
    table.add_row("all", *_cells(found["total"]))
    screen.print(table)
    for divergence in found["divergences"][:SHOWN]:
        place = f"{divergence['tool']}, call {divergence['index']} of sequence {divergence['sequence']}"
        screen.print(f"{place}: {divergence['problem']}")
    if len(found["divergences"]) > SHOWN:
        screen.print(f"... and {len(found['divergences']) - SHOWN} more; --out keeps them all with both replies")
    for share in found["shortfalls"]:
        screen.print(f"note: the calls are less varied than they should be: {share} is {found['shares'][share]:.1%}")
    if out is not None:
        screen.print(f"The report is in {out}.")
    for problem in found["problems"]:
        report(problem)


def _cells(figures: JsonObject) -> list[str]:
    return [str(figures["calls"]), *(f"{figures[key]:.1%}" for key in ("agreement", "valid", "stateful"))]
