"""The options that commands on built search worlds share."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from simtrain.cli.completing import world_names

WorldName: TypeAlias = Annotated[
    str,
    typer.Argument(
        help="A search world by name or YAML file, or a built file.", metavar="WORLD", autocompletion=world_names
    ),
]
Pages: TypeAlias = Annotated[int | None, typer.Option("--pages", help="About how many pages.")]
WorldSeed: TypeAlias = Annotated[int | None, typer.Option("--seed", help="Another seed than the file's.")]
