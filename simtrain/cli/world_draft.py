"""`simtrain world draft`: draft a service world from a captured server, proposed by a model and judged by checks, or as a skeleton."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simtrain.cli.options import console, print_json, report

if TYPE_CHECKING:
    from simtrain.mcp.draft.drafting import Drafted
    from simtrain.mcp.draft.observed import Observed
    from simtrain.values.types import JsonObject

HELP = """Draft a service world from a captured server and its recordings.

With --model a model proposes the tables, the rows and the SQL of the tools.
Checks accept the proposal or send it back with reasons, for at most --rounds
rounds: it loads, it gives the recorded replies (some of which the model is
not shown), and it gives back what it is told when the recorded words are
other ones. After the last round the tools that fail are left open, and the
exit code is 1.

Without a model it is a skeleton: the surface and the errors of the server,
and every tool left open.

\b
Examples:
  simtrain world draft notes.json --out worlds/notes.yaml \\
      --model MODEL --base-url URL
  simtrain world draft all.json --server notes --recording rec.jsonl \\
      --out worlds/notes.yaml --model MODEL --rounds 8 --json
  simtrain world draft notes.json --out worlds/notes.yaml
"""


def command(
    manifest: Annotated[Path, typer.Argument(help="What simtrain capture wrote.", metavar="MANIFEST")],
    out: Annotated[Path, typer.Option("--out", "-o", help="World file to write; it appears whole or not at all.")],
    server: Annotated[str | None, typer.Option("--server", help="Which server, where there are several.")] = None,
    recording: Annotated[
        list[Path] | None,
        typer.Option("--recording", help="Recording or manifest with further calls; may be repeated."),
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="The chat model that proposes.")] = None,
    base_url: Annotated[str | None, typer.Option("--base-url", help="Its server; else OPENAI_BASE_URL.")] = None,
    rounds: Annotated[int, typer.Option("--rounds", min=1, max=50, help="Proposals that are asked for at most.")] = 5,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Draft, write, report."""
    import asyncio
    import sys

    from simtrain.files.jsonl import write_whole
    from simtrain.mcp.draft.drafting import without_model
    from simtrain.mcp.draft.observed import read_observed
    from simtrain.mcp.draft.world import relative, world_name, world_text
    from simtrain.mcp_wire.manifest import Manifest, read_manifest, write_manifest
    from simtrain.values.errors import InputError

    if out.suffix not in (".yaml", ".yml"):
        raise InputError("a world file ends in .yaml", place="--out")
    if out.exists() and not force:
        raise InputError("the file already exists", remedy="--force replaces it", file=out)
    if base_url is not None and model is None:
        raise InputError("--base-url goes with --model", place="--base-url")
    observed = read_observed(manifest, server=server, recordings=recording or [])
    name = world_name(out.stem)
    drafted = without_model(observed)
    if model is not None:
        drafted = asyncio.run(_ask(observed, manifest, name, model, base_url, rounds))
    out.parent.mkdir(parents=True, exist_ok=True)
    shown = manifest
    if len(read_manifest(manifest).servers) > 1:
        # A world with one server serves the surface captured from it.
        shown = out.with_suffix(".manifest.json")
        write_manifest(Manifest({observed.manifest.name: observed.manifest}), shown)
    text = world_text(observed, drafted.proposal, name=name, manifest=relative(shown, out), state=drafted.state)
    write_whole(out, text)
    found = _facts(drafted, observed)
    if as_json:
        print_json({"world": str(out), **found})
    else:
        _print(found, out)
    # A skeleton is what was asked for without a model; a draft with open tools is not.
    sys.exit(1 if model is not None and not drafted.accepted else 0)


async def _ask(observed: Observed, manifest: Path, name: str, model: str, base_url: str | None, rounds: int) -> Drafted:
    from simtrain.llm.client import ChatClient
    from simtrain.mcp.draft.drafting import with_model

    async with ChatClient(model, base_url=base_url) as client:

        async def ask(messages: object) -> str:
            # Temperature 0: rounds should differ by what the checks objected to, not by chance.
            return (await client.complete(messages, temperature=0)).text  # pyright: ignore[reportArgumentType]

        return await with_model(observed, ask, name=name, manifest=manifest, rounds=rounds, watch=report)


def _facts(drafted: Drafted, observed: Observed) -> JsonObject:
    """Return the report: the draft's state, and for each tool whether it is bound, why not, and its recorded replies."""
    proposal, replies = drafted.proposal, drafted.judged.replies
    tools: JsonObject = {
        tool: {
            "bound": tool in proposal.bound,
            "reason": proposal.open.get(tool),
            "calls": replies.get(tool, (0, 0))[1],
            "same": replies.get(tool, (0, 0))[0],
        }
        for tool in observed.tools
    }
    return {
        "state": drafted.state,
        "accepted": drafted.accepted,
        "rounds": drafted.rounds,
        "bound": len(proposal.bound),
        "tools": tools,
        "objections": [{"check": one.check, "tool": one.tool, "reason": one.reason} for one in drafted.objections],
    }


def _print(found: JsonObject, out: Path) -> None:
    from simtrain.cli.tables import plain_table, short
    from simtrain.values.terminal_text import in_line

    screen = console()
    legend = "replies given: recorded replies that the draft gives too, of those that are on record"
    table = plain_table("tool", "state", "replies given", "why it is open", legend=legend)
    for name, tool in found["tools"].items():
        given = f"{tool['same']} of {tool['calls']}" if tool["bound"] else "-"
        table.add_row(short(in_line(name)), "bound" if tool["bound"] else "open", given, in_line(tool["reason"] or ""))
    screen.print(table)
    screen.print(f"{found['bound']} of {len(found['tools'])} tools are bound to SQL. The draft is {found['state']}.")
    screen.print(f"Written to {out}.")
