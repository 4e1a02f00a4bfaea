"""`simtrain world browse`: a search world or an app as a web site on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from simtrain.cli.shared_options import Pages, WorldName, WorldSeed

if TYPE_CHECKING:
    from simtrain.worlds.app.world import AppWorld
    from simtrain.worlds.search.world import SearchWorld

HELP = """Serve a search world or an app as a real web site on this machine.

For people, browsers, and agents with real fetch tools. The front page lists
the sites; each site lies under its own path (/registry.example/...) and, by
the Host header, under its own name: registry.example, or registry.example
followed by .localhost, which browsers find by themselves. Search is at
/-/search?q=WORDS (&format=json for programs). Ctrl-C ends it. Of a built file
all pages are sound: dead links and the like are of the YAML.

An app is its own site: what is done there changes its state, until Ctrl-C.

\b
Examples:
  simtrain world browse kestrel_reach
  simtrain world browse kestrel_reach --port 8000 --json
  simtrain world browse reach.sqlite
  simtrain world browse shop_site
  chromium --host-resolver-rules="MAP *.example 127.0.0.1:8000" \\
      http://registry.kestrel.example/
"""


def command(
    world: WorldName,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 takes a free one.")] = 8000,
    pages: Pages = None,
    seed: WorldSeed = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print where it is served as one JSON line.")] = False,
) -> None:
    """Build if necessary, then serve until Ctrl-C."""
    import asyncio
    from typing import cast

    from simtrain.cli.built_worlds import chosen_world, named_app
    from simtrain.worlds.search.built import built_world

    app = named_app(world, pages=pages, seed=seed)
    if app is not None:
        asyncio.run(_serve_app(app, host, port, as_json=as_json))
        return
    built = chosen_world(world, pages=pages, seed=seed, quiet=as_json)
    # A built file alone has no YAML, and so no dead links, redirects or paywalls.
    opened = cast("SearchWorld", built.source.build(built.variant)) if built.source else built_world(built.path)
    asyncio.run(_serve(opened, host, port, as_json=as_json))


async def _serve(world: SearchWorld, host: str, port: int, *, as_json: bool) -> None:
    import asyncio

    from simtrain.cli.options import console, on_signal, print_json_line
    from simtrain.view.search_site.site import browsing

    over = asyncio.Event()
    on_signal(over.set)
    async with browsing(world, host=host, port=port) as url:
        sites = {site.domain: f"{url}{site.domain}/" for site in world.web.sites}
        if as_json:
            print_json_line({"url": url, "sites": sites})
        else:
            screen = console()
            screen.print(f"{world.name} is at {url}; Ctrl-C ends it.", soft_wrap=True)
            for address in sites.values():
                screen.print(f"  {address}", soft_wrap=True)
        await over.wait()


async def _serve_app(world: AppWorld, host: str, port: int, *, as_json: bool) -> None:
    import asyncio

    from simtrain.cli.options import console, on_signal, print_json_line
    from simtrain.view.app_site import browsing_app

    over = asyncio.Event()
    on_signal(over.set)
    async with browsing_app(world.open(), host=host, port=port) as url:
        if as_json:
            print_json_line({"url": url})
        else:
            console().print(f"{world.name} is at {url}; Ctrl-C ends it.", soft_wrap=True)
        await over.wait()
