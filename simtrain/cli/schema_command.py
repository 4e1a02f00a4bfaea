"""`simtrain schema`: JSON Schemas of the files that people write and read."""

from pathlib import Path
from typing import Annotated, Literal, TypeAlias, get_args

import typer

from simtrain.cli.options import print_json

HELP = """Print or write JSON Schemas of the files that people write and read.

These are scenario, world, pack, curriculum; trajectory (a line of a run
folder) and drill (drill.json). They include the knobs of all installed
plug-ins. An editor with a YAML language server uses the schema that a file's
first line names:

\b
  # yaml-language-server: $schema=../../schemas/scenario.schema.json

\b
Examples:
  simtrain schema scenario
  simtrain schema -o schemas
"""


SchemaName: TypeAlias = Literal["scenario", "world", "pack", "curriculum", "recipe", "drill", "trajectory"]


def command(
    kind: Annotated[SchemaName | None, typer.Argument(help="Which; all of them without it.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder to write KIND.schema.json files to, instead of printing.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="With --out: print the paths written as JSON. A schema is JSON anyway.")
    ] = False,
) -> None:
    """Print one schema, or all under their names; or write them."""
    from simtrain.cli.schemas import schema_files, schema_of
    from simtrain.files.whole_folder import write_files

    wanted = get_args(SchemaName) if kind is None else (kind,)
    if out is None:
        print_json({name: schema_of(name) for name in wanted} if kind is None else schema_of(kind))
        return
    paths = write_files(schema_files(out, wanted))
    if as_json:
        print_json([str(path) for path in paths])
        return
    for path in paths:
        print(path)
