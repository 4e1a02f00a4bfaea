"""`simtrain new plugin`: a plug-in that does something, with a test, in a package of one's own or in a checkout."""

from pathlib import Path
from typing import Annotated

import typer

from simtrain.cli.options import print_written

HELP = """Write a plug-in that does something, and a test that passes.

A package of your own: pyproject.toml with the entry point, simtrain_NAME.py
and test_NAME.py, in the folder NAME (or DIR). With --in-tree, in a checkout of
simtrain: the file in the folder of its kind, and the line in
simtrain/plugins.py. Nothing that is there is overwritten.

KIND is perturbation, grader, exporter, agent, domain, world_model, paradigm,
transport, sandbox, argument_style or handler.

\b
Examples:
  simtrain new plugin perturbation half_reply
  simtrain new plugin grader frugality --into my_graders
  simtrain new plugin exporter prompts --in-tree
"""


def command(
    kind: Annotated[str, typer.Argument(help="What it is, as above.", metavar="KIND")],
    name: Annotated[str, typer.Argument(help="Its name in YAML and on the command line: half_reply.")],
    into: Annotated[Path | None, typer.Option(help="Folder to make for the package.", metavar="DIR")] = None,
    in_tree: Annotated[
        bool, typer.Option("--in-tree", help="Write into the checkout around the working folder.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the paths written as JSON.")] = False,
) -> None:
    """Write the files, and say what to do next."""
    from simtrain.cli.plugin_files import in_checkout, package_files
    from simtrain.contracts.kinds import kind_of
    from simtrain.files.whole_folder import write_files
    from simtrain.values.errors import InputError

    found = kind_of(kind)
    if in_tree and into is not None:
        raise InputError("--into makes a package, and --in-tree does not", remedy="leave one of them out")
    folder = into or Path(name)
    written = write_files(in_checkout(found, name) if in_tree else package_files(found, name, folder))
    then = [f"Now: pip install -e {folder}", f"     pytest {folder}", f"     simtrain list {found.name}"]
    if in_tree:
        then = [f"Now: pytest tests/testing -k {found.name}-{name}", "     make tables"]
    print_written(written, as_json=as_json, then=then)
