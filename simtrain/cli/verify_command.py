"""`simtrain verify`: play the same calls on a real MCP server and on its stand-in."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simtrain.cli.options import console, print_json, report
from simtrain.cli.tables import figures_table, short
from simtrain.values.errors import InputError

if TYPE_CHECKING:
    from simtrain.values.types import JsonObject

HELP = """Play the same calls on a real MCP server and on its stand-in.

Generated calls (valid, edge cases, invalid; many depend on earlier ones) go to
both, and every difference between the replies is reported, separately from
differences in the surface (greeting, descriptors, lists). Exit code 1 if
agreement is below a threshold, 2 for bad input.

With --cassette a real server is compared with its own recording: the recorded
requests are sent again.

The calls really happen on the real server: for a built-in stand-in, {root} and
similar placeholders in its command are replaced by a fresh folder.

\b
Examples:
  simtrain verify memory --against mcp-server-memory
  simtrain verify filesystem --against "mcp-server-filesystem {root}"
  simtrain verify mine.yaml --against http://127.0.0.1:8000/mcp --out r.html
  simtrain verify --cassette recording.jsonl --against "npx -y my-server"
  simtrain verify notes.yaml --against "python notes.py" --pair "note-\\d+"
"""

SHOWN = 10


def command(
    against: Annotated[str, typer.Option("--against", help="Command that starts the real server, or its URL.")],
    name: Annotated[
        str | None, typer.Argument(help="A world or a captured manifest, by name or file.", metavar="[STANDIN]")
    ] = None,
    cassette: Annotated[
        Path | None, typer.Option("--cassette", help="Instead: a recording or manifest of the real server's own past.")
    ] = None,
    calls: Annotated[int, typer.Option("--calls", min=1, help="Calls to play.")] = 2000,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the calls.")] = 0,
    sequence: Annotated[
        int | None, typer.Option("--sequence", min=0, help="Play this sequence alone, as it was among all.")
    ] = None,
    overall: Annotated[float, typer.Option("--overall", min=0, max=1, help="Least agreement over all calls.")] = 0.95,
    per_tool: Annotated[float, typer.Option("--per-tool", min=0, max=1, help="Least agreement of each tool.")] = 0.85,
    surface: Annotated[
        float, typer.Option("--surface", min=0, max=1, help="Least share of what both show that is equal.")
    ] = 0.0,
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
    from simtrain.mcp.verify.cassette import recheck
    from simtrain.mcp.verify.findings import Thresholds
    from simtrain.mcp.verify.play import VerifyOptions, verify
    from simtrain.mcp.verify.report import check_ending, facts, write
    from simtrain.mcp.verify.stand_in import stand_in
    from simtrain.mcp.verify.subjects import subject_of

    if (name is None) == (cassette is None):
        raise InputError("either a stand-in or a --cassette is compared with the server", remedy="name one of them")
    pairs = tuple(_pattern(text) for text in pair or ())
    if out is not None:
        # Checked before thousands of calls to a real server.
        check_ending(out)
    # The number of calls in a sequence or a cassette is not known beforehand.
    total = calls if sequence is None and cassette is None else None
    with Counting("verifying", total=total, quiet=as_json) as counting:
        if cassette is not None:
            advance = counting.advance
            playing = recheck(cassette, against, server=server, pairs=pairs, timeout=timeout, on_call=advance)
        else:
            own = stand_in(name or "", server=server)
            subject = subject_of(own.name, world=own.world, captured=own.captured, server=server)
            options = VerifyOptions(calls, seed, parallel, timeout, pairs, sequence)
            playing = verify(own, subject, against, options, on_call=counting.advance)
        findings = asyncio.run(playing)
    found = facts(findings, Thresholds(overall, per_tool, surface))
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
    from simtrain.values.terminal_text import in_line

    screen = console()
    title = (
        f"{found['name']} today against {found['cassette']}"
        if found["cassette"]
        else f"{found['name']} against the real server"
    )
    legend = "agree: replies like those of the real server; valid: calls that it took; stateful: calls that depend on earlier ones"
    table = figures_table("tool", "calls", "agree", "valid", "stateful", title=title, legend=legend)
    for tool, figures in found["tools"].items():
        table.add_row(short(in_line(tool)), *_cells(figures))
    table.add_section()
    table.add_row("all", *_cells(found["total"]))
    screen.print(table)
    _print_surface(found["surface"])
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


def _print_surface(surface: JsonObject) -> None:

    screen = console()
    legend = "equal: parts that both sides show alike; of: parts that either shows"
    for shown in surface["eras"]:
        table = figures_table("shown", "equal", "of", title=f"What both show, {shown['era']}", legend=legend)
        for part, count in shown["parts"].items():
            table.add_row(part, str(count["equal"]), str(count["of"]))
        screen.print(table)
        for difference in shown["differences"][:SHOWN]:
            screen.print(f"shown otherwise: {difference['place']}")
        if len(shown["differences"]) > SHOWN:
            screen.print(f"... and {len(shown['differences']) - SHOWN} more; --out keeps them all with both sides")


def _cells(figures: JsonObject) -> list[str]:
    return [str(figures["calls"]), *(f"{figures[key]:.1%}" for key in ("agreement", "valid", "stateful"))]
