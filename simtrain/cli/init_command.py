"""`simtrain init`: a starter world and scenario."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from simtrain.cli.options import print_written

HELP = """Write a starter world and a scenario that run, to build on.

Writes a world, a scenario for it and, for completion in editors, schemas/.
A service is a database with tools, a machine has a shell over files and
processes, an app has pages and forms. Existing files are never overwritten.

\b
Examples:
  simtrain init
  simtrain init my_worlds --kind machine
  simtrain init shop --kind app
"""

SCHEMAS = ("scenario", "world", "pack")


class StarterKind(StrEnum):
    """The kinds of worlds that there is a starter for."""

    SERVICE = "service"
    MACHINE = "machine"
    APP = "app"


FILES = {
    StarterKind.SERVICE: ("worlds/library.yaml", "scenarios/library/renew_loan.yaml"),
    StarterKind.MACHINE: ("worlds/shed.yaml", "scenarios/shed/highest.yaml"),
    StarterKind.APP: (
        "worlds/lending.yaml",
        *(f"worlds/lending/{page}.html" for page in ("layout", "books", "login", "error")),
        "scenarios/lending/lend_book.yaml",
    ),
}
"""The files of a starter. Those of machines and apps are the examples of docs/machines.md and docs/apps.md."""


def command(
    folder: Annotated[Path, typer.Argument(help="Where to write; made when it is not there.")] = Path(),
    kind: Annotated[StarterKind, typer.Option(help="The kind of world.")] = StarterKind.SERVICE,
    as_json: Annotated[bool, typer.Option("--json", help="Print the paths written as JSON.")] = False,
) -> None:
    """Write the files, and say what to do next."""
    written = _write(folder, FILES[kind])
    entering = [] if folder.resolve() == Path.cwd() else [f"Now: cd {folder}"]
    suite = Path(FILES[kind][0]).stem
    then = [*entering, f"Now: simtrain validate {suite}", f"     simtrain run {suite} --show"]
    print_written(written, as_json=as_json, then=then)


def _write(folder: Path, names: Sequence[str]) -> list[Path]:
    """Write all files, or none if one of them exists."""
    from importlib.resources import files

    from simtrain.cli.schemas import schema_files
    from simtrain.files.whole_folder import write_files
    from simtrain.values.errors import InputError

    starter = files("simtrain.cli").joinpath("starter")
    contents = {folder / name: starter.joinpath(name).read_text("utf-8") for name in names}
    contents |= schema_files(folder / "schemas", SCHEMAS)
    for path in contents:
        # All are checked before the first is written, so that nothing is half-written.
        if path.exists():
            raise InputError(
                "the file is already there", remedy="choose another folder; nothing was written", file=path
            )
    return write_files(contents)
