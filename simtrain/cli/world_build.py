"""`simtrain world build`: the file of a search world."""

from pathlib import Path
from typing import Annotated

import typer

from simtrain.cli.completing import world_names

HELP = """Build the file of a search world: facts, pages, links, index.

The file goes to the cache, where scenarios find it, or where --out says. It
appears whole or not at all; a build that was killed goes on where it was.
The same world, seed, size and version give the same file contents anywhere.

\b
Examples:
  simtrain world build kestrel_reach
  simtrain world build kestrel_reach --pages 100000 --out reach.sqlite
  simtrain world build worlds/mine.yaml --rows station=500 --json
"""


def command(
    world: Annotated[
        str, typer.Argument(help="Name or YAML file of a search world.", metavar="WORLD", autocompletion=world_names)
    ],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where to write the file.")] = None,
    pages: Annotated[int | None, typer.Option("--pages", help="About how many pages; scales all counts.")] = None,
    rows: Annotated[
        list[str] | None, typer.Option("--rows", help="TYPE=COUNT; may be repeated.", metavar="TYPE=COUNT")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Another seed than the file's.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Build anew, in the place of a file that is there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Build, report."""
    from time import monotonic

    from simtrain.cli.built_worlds import page_count, search_source, variant_of
    from simtrain.cli.options import console, print_json
    from simtrain.cli.progress import BuildProgress
    from simtrain.values.errors import InputError

    source = search_source(world)
    variant = variant_of(pages=pages, seed=seed, rows=rows or [])
    if out is not None and out.is_dir():
        raise InputError("this is a folder", remedy="name the file", file=out)
    if out is not None and out.exists() and not force:
        raise InputError("the file already exists", remedy="--force replaces it", file=out)
    begun = monotonic()
    kept = out or source.path(variant)
    # An existing file stays until the new one is complete.
    fresh = kept.with_name(f"{kept.name}.new") if force and kept.exists() else kept
    with BuildProgress(quiet=as_json) as progress:
        source.build_file(variant, fresh, progress)
    # A rename within one folder is atomic: readers see the old or the new file, never a part.
    path = fresh.replace(kept)
    count = page_count(path)
    size = path.stat().st_size
    if as_json:
        print_json(
            {
                "world": source.name,
                "file": str(path),
                "pages": count,
                "bytes": size,
                "seconds": round(monotonic() - begun, 2),
            }
        )
    else:
        console().print(f"{source.name}: {count:,} pages, {size / 1e6:,.1f} MB, in {path}", soft_wrap=True)
