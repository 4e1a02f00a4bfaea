"""`simtrain init`: a starter world and scenario."""

from pathlib import Path
from typing import Annotated

import typer

from simtrain.cli.options import print_written

HELP = """Write a starter world and a scenario that run, to build on.

Writes worlds/library.yaml, scenarios/library/renew_loan.yaml and, for
completion in editors, schemas/. Existing files are never overwritten.

\b
Examples:
  simtrain init
  simtrain init my_worlds
"""

FILES = ("worlds/library.yaml", "scenarios/library/renew_loan.yaml")
SCHEMAS = ("scenario", "world", "pack")


def command(
    folder: Annotated[Path, typer.Argument(help="Where to write; made when it is not there.")] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print the paths written as JSON.")] = False,
) -> None:
    """Write the files, and say what to do next."""
    written = _write(folder)
    entering = [] if folder.resolve() == Path.cwd() else [f"Now: cd {folder}"]
    then = [*entering, "Now: simtrain validate library", "     simtrain run library --show"]
    print_written(written, as_json=as_json, then=then)


def _write(folder: Path) -> list[Path]:
    """Write all files, or none if one of them exists."""
    from importlib.resources import files

    from simtrain.cli.schemas import schema_files
    from simtrain.files.whole_folder import write_files
    from simtrain.values.errors import InputError

    starter = files("simtrain.cli").joinpath("starter")
    contents = {folder / name: starter.joinpath(name).read_text("utf-8") for name in FILES}
    contents |= schema_files(folder / "schemas", SCHEMAS)
    for path in contents:
        # All are checked before the first is written, so that nothing is half-written.
        if path.exists():
            raise InputError(
                "the file is already there", remedy="choose another folder; nothing was written", file=path
            )
    return write_files(contents)
