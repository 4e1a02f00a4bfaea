"""`simtrain world digest`: what two equal builds have in common."""

from typing import Annotated

import typer

from simtrain.cli.shared_options import Pages, WorldName, WorldSeed

HELP = """Print the digest of a search world.

It covers the ordered rows of every table and the rankings of 1,000 probe
queries, so that it is the same for the same world, seed, size and version
on every machine.

\b
Examples:
  simtrain world digest kestrel_reach
  simtrain world digest reach.sqlite --json
"""


def command(
    world: WorldName,
    pages: Pages = None,
    seed: WorldSeed = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON, with a digest of each table.")] = False,
) -> None:
    """Build if need be, digest, print."""
    from contextlib import closing

    from simtrain.cli.built_worlds import chosen_world
    from simtrain.cli.options import print_json
    from simtrain.worlds.search.digest import digest, table_digest, tables
    from simtrain.worlds.search.file import blaming, open_file

    path = chosen_world(world, pages=pages, seed=seed, quiet=as_json).path
    with blaming(path), closing(open_file(path)) as connection:
        found = digest(connection)
        parts = {name: table_digest(connection, name) for name in tables(connection)} if as_json else {}
    if as_json:
        print_json({"digest": found, "file": str(path), "tables": parts})
    else:
        print(found)
