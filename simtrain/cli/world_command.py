"""`simtrain world`: commands on worlds; each verb is in its own file."""

from __future__ import annotations

from importlib import import_module

import typer

VERBS = ("draft", "build", "digest", "stats", "questions", "check", "enrich", "browse", "export")

HELP = """Create and check worlds: draft one from a captured server, build search worlds.

Every verb prints its report as JSON with --json.

\b
Examples:
  simtrain world draft server.manifest.json --out worlds/server.yaml
  simtrain world build kestrel_reach --pages 100000 --out reach.sqlite
  simtrain world stats kestrel_reach
  simtrain world check kestrel_reach
"""


def group() -> typer.Typer:
    """Return the verbs as commands."""
    found = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
    for verb in VERBS:
        module = import_module(f"simtrain.cli.world_{verb}")
        found.command(verb, help=module.HELP, short_help=module.HELP.partition("\n")[0])(module.command)
    return found
