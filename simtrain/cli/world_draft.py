"""`simtrain world draft`: a captured server as a service world to go on with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from simtrain.serving.draft.drafting import Drafted
    from simtrain.serving.draft.observed import Observed
    from simtrain.types import JsonObject

HELP = """Draft a service world from a captured server and its recordings.

Tables, rows and SQL are inferred from tool names, schemas and recorded
replies, without a model: the same input gives the same file. Tools that
nothing explains stay unbound and say that they are not supported. The draft
is then played against the recordings, and the report says which replies it
gives.

With --chat a model is asked for the tools that are left; what it writes is
kept only where it gives all their recorded replies.

\b
Examples:
  simtrain world draft notes.manifest.json --out worlds/notes.yaml
  simtrain world draft all.json --server notes --recording rec.jsonl \\
      --out worlds/notes.yaml --json
  simtrain world draft notes.json --out n.yaml --chat MODEL --base-url URL
"""


def command(
    manifest: Annotated[Path, typer.Argument(help="What simtrain capture wrote.", metavar="MANIFEST")],
    out: Annotated[Path, typer.Option("--out", "-o", help="World file to write; it appears whole or not at all.")],
    server: Annotated[str | None, typer.Option("--server", help="Which server, where there are several.")] = None,
    recording: Annotated[
        list[Path] | None,
        typer.Option("--recording", help="Recording or manifest with further calls; may be repeated."),
    ] = None,
    chat: Annotated[str | None, typer.Option("--chat", help="Chat model to ask.", metavar="MODEL")] = None,
    base_url: Annotated[str | None, typer.Option("--base-url", help="Server of the chat model.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Draft, write, report."""
    import asyncio

    from simtrain.cli.options import print_json
    from simtrain.errors import InputError
    from simtrain.lines import write_whole
    from simtrain.manifest import Manifest, read_manifest, write_manifest
    from simtrain.serving.draft.observed import read_observed
    from simtrain.serving.draft.report import facts
    from simtrain.serving.draft.world import draft_text, relative

    if out.suffix not in (".yaml", ".yml"):
        raise InputError("a world file ends in .yaml", place="--out")
    if out.exists() and not force:
        raise InputError("the file is there already", remedy="--force replaces it", file=out)
    observed = read_observed(manifest, server=server, recordings=recording or [])
    drafted = asyncio.run(_draft(observed, manifest, out.stem, chat, base_url))
    out.parent.mkdir(parents=True, exist_ok=True)
    shown = manifest
    if len(read_manifest(manifest).servers) > 1:
        # A world of one server shows what was captured of that one.
        shown = out.with_suffix(".manifest.json")
        write_manifest(Manifest({observed.manifest.name: observed.manifest}), shown)
    write_whole(out, draft_text(drafted.draft, manifest=relative(shown, out)))
    found = facts(drafted)
    if as_json:
        print_json({"world": str(out), **found})
    else:
        _print(found, out)


async def _draft(observed: Observed, manifest: Path, name: str, chat: str | None, base_url: str | None) -> Drafted:
    from simtrain.llm import ChatClient
    from simtrain.serving.draft.asking import ask_for_tools
    from simtrain.serving.draft.drafting import make_draft

    drafted = await make_draft(observed, manifest, name=name)
    if chat is None:
        return drafted
    client = ChatClient(chat, base_url=base_url)
    try:
        await client.ready()

        async def ask(messages: object) -> str:
            return (await client.complete(messages, temperature=0)).text  # pyright: ignore[reportArgumentType]

        return await ask_for_tools(drafted, manifest, ask)
    finally:
        await client.close()


def _print(found: JsonObject, out: Path) -> None:
    from simtrain.cli.options import console
    from simtrain.cli.tables import plain_table
    from simtrain.cli.terminal import in_line

    screen = console()
    table = plain_table("tool", "state", "replies given", "what is left")
    for name, tool in found["tools"].items():
        state = "bound" if tool["bound"] else "unbound"
        left = tool["reason"] or tool["first_difference"] or ""
        table.add_row(in_line(name), state, f"{tool['same']} of {tool['calls']}", in_line(left))
    screen.print(table)
    for name, facts in found["tables"].items():
        screen.print(f"table {name}: {facts['rows']} rows ({', '.join(facts['columns'])})")
    screen.print(
        f"{found['bound']} of {len(found['tools'])} tools are bound to SQL; "
        f"{found['same']} of {found['calls']} recorded replies come out the same."
    )
    screen.print(f"Written to {out}.")
