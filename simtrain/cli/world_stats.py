"""`simtrain world stats`: how much there is of what in a search world."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from simtrain.cli.options import console, print_json
from simtrain.cli.shared_options import Pages, WorldName, WorldSeed
from simtrain.cli.tables import figures_table, short

if TYPE_CHECKING:
    from simtrain.values.types import JsonObject

HELP = """Show how much there is of what in a search world.

Rows by type, pages by site and kind, words, statements and links a page,
what is outdated or mistaken, and the size on disk. With --sentences also how
often sentences come again with other names, numbers and dates in them.

\b
Examples:
  simtrain world stats kestrel_reach
  simtrain world stats reach.sqlite --json
  simtrain world stats kestrel_reach --pages 10000 --sentences
"""

SITE, DOMAIN = 14, 24
"""Columns of a site's name and domain next to its figures."""


def command(
    world: WorldName,
    pages: Pages = None,
    seed: WorldSeed = None,
    sentences: Annotated[
        bool,
        typer.Option("--sentences", help="Read all pages for sentences that come again (half a second a thousand)."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Build if need be, count, print."""
    from contextlib import closing

    from simtrain.cli.built_worlds import chosen_world
    from simtrain.validation.search_worlds.skeletons import skeletons
    from simtrain.worlds.search.figures import figures
    from simtrain.worlds.search.file import blaming, open_file

    path = chosen_world(world, pages=pages, seed=seed, quiet=as_json).path
    with blaming(path), closing(open_file(path)) as connection:
        found = figures(connection, path)
        if sentences:
            found["sentences"] = skeletons(connection).report()
    if as_json:
        print_json({"file": str(path), **found})
        return
    _print(found)
    if sentences:
        _print_sentences(found["sentences"])


def _print_sentences(found: JsonObject) -> None:

    screen = console()
    kinds = figures_table("pages", "sentences", "shared", legend="shared: share of sentences with a shared skeleton")
    for name, one in found["kinds"].items():
        kinds.add_row(short(name), f"{one['sentences']:,}", f"{one['share']:.0%}")
    screen.print(kinds)
    screen.print(
        f"{found['sentences']:,} sentences, {found['share']:.1%} with a skeleton that more than {found['many']} other pages have"
    )


def _print(found: JsonObject) -> None:

    screen = console()
    legend = "kind: a thing or a relation between things; rows: how many there are; attributes: what each row says"
    types = figures_table("type", "kind", "rows", "attributes", legend=legend)
    for name, one in found["types"].items():
        types.add_row(short(name), one["kind"], f"{one['rows']:,}", str(one["attributes"]))
    screen.print(types)
    legend = "words: a page, on average; lag: how late it learns of what happens; reliable: share of its values that are right"
    sites = figures_table("site", "domain", "pages", "words", "lag", "reliable", legend=legend)
    for one in found["sites"]:
        lag = f"{one['lag_days']} d"
        figures = (f"{one['pages']:,}", f"{one['words']:.0f}", lag, f"{one['reliability']:.0%}")
        sites.add_row(short(one["name"], SITE), short(one["domain"], DOMAIN), *figures)
    screen.print(sites)
    claims = ", ".join(f"{count:,} {reason}" for reason, count in found["claims"].items()) or "none"
    screen.print(
        f"{found['pages']:,} pages; on average {found['words_a_page']} words, {found['facts_a_page']} facts,"
        f" {found['links_a_page']} links\n"
        f"{found['aliases']:,} other names; values that a site has wrong: {claims}; {found['false_statements']:,} statements follow them\n"
        f"{found['bytes'] / 1e6:,.1f} MB, {found['bytes_a_page']:,} bytes a page"
    )
