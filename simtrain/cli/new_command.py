"""`simtrain new`: starter files."""

from __future__ import annotations

import typer

HELP = """Write the files of a new plug-in, which work at once.

With --json the paths that were written are printed as JSON.

\b
Examples:
  simtrain new plugin perturbation half_reply
  simtrain new plugin grader frugality --into ~/my_graders
"""


def group() -> typer.Typer:
    """Return the commands of `simtrain new`."""
    from simtrain.cli import new_plugin

    found = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
    found.callback()(lambda: None)
    found.command("plugin", help=new_plugin.HELP, short_help=new_plugin.HELP.partition("\n")[0])(new_plugin.command)
    return found
