"""`simtrain world enrich`: let a model reword the pages of a search world without changing a fact."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simtrain.cli.completing import world_names

if TYPE_CHECKING:
    from simtrain.worlds.search.pages.enriching import Enriched

HELP = """Let a model word the pages of a search world anew.

What a page states, its links, lists and tables are set aside before the model
sees it, and put back as they were. Words that lose, repeat or invent
something are sent back once; then the page keeps its own. What is kept goes
into OUT, one line a page. A world whose file says `enriched: OUT` is built
with these words from then on, and needs no model. Pages that stand in OUT
already are passed over, so that a run that was stopped goes on.

\b
Examples:
  simtrain world enrich kestrel_reach --model MODEL \\
      --out worlds/kestrel_reach.pages.jsonl
  simtrain world enrich kestrel_reach --model MODEL --base-url URL \\
      --site gazette --limit 50 --out gazette.jsonl --json
"""


def command(
    world: Annotated[
        str, typer.Argument(help="A search world by name or YAML file.", metavar="WORLD", autocompletion=world_names)
    ],
    model: Annotated[str, typer.Option("--model", help="The chat model.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write, or to continue.")],
    base_url: Annotated[str | None, typer.Option("--base-url", help="Its server; else OPENAI_BASE_URL.")] = None,
    site: Annotated[str | None, typer.Option("--site", help="Only pages of this site.")] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="At most this many pages.")] = None,
    concurrency: Annotated[int, typer.Option("--concurrency", "-c", min=1, help="Pages at once.")] = 8,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", min=1, help="Most tokens in one reply, thinking included.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Build if need be, ask, write, report."""
    import asyncio

    from simtrain.cli.built_worlds import chosen_world, search_source
    from simtrain.cli.options import print_json
    from simtrain.cli.progress import Counting
    from simtrain.llm.client import ChatClient
    from simtrain.values.errors import InputError, nearest
    from simtrain.worlds.search.pages.enriching import enrich, pages_of

    sites = search_source(world).spec.sites
    if site is not None and site not in sites:
        raise InputError(f"the world has no site {site!r}", remedy=nearest(site, sites), place="--site")
    client = ChatClient(model, base_url=base_url)
    file = chosen_world(world, quiet=as_json).path

    async def ask() -> Enriched:
        async with client:
            with Counting("pages", total=pages_of(file, limit=limit, site=site), quiet=as_json) as counting:
                return await enrich(
                    file,
                    out,
                    client,
                    sampling={} if max_tokens is None else {"max_tokens": max_tokens},
                    limit=limit,
                    site=site,
                    concurrency=concurrency,
                    on_page=counting.advance,
                )

    done = asyncio.run(ask())
    # Some refused pages are normal; if none was kept at all, the model does not do.
    nothing = done.refused > 0 and out.stat().st_size == 0
    if as_json:
        print_json({"out": str(out), "kept": done.kept, "refused": done.refused, "faults": done.faults})
        raise typer.Exit(1 if nothing else 0)
    typer.echo(f"{done.kept} pages worded anew, {done.refused} keep their own words: {out}")
    for url, fault in list(done.faults.items())[:5]:
        typer.echo(f"  {url}: {fault}")
    if nothing:
        typer.echo("No page was worded anew.")
        raise typer.Exit(1)
    typer.echo(f"Write `enriched: {out.name}` into a world file beside it.")
