"""The command line: one file for each command, which parses, calls and prints."""

from __future__ import annotations

import sys

import typer

from simtrain.cli.options import fail
from simtrain.errors import InputError

COMMANDS = ("run", "validate", "list", "show")


def build() -> typer.Typer:
    """The application with all its commands."""
    from importlib import import_module

    app = typer.Typer(
        name="simtrain",
        help="Train, drill and test LLM agents in simulated environments.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(_version)
    for name in COMMANDS:
        module = import_module(f"simtrain.cli.{name}_command")
        app.command(name, help=module.HELP)(module.command)
    return app


def _version(version: bool = typer.Option(False, "--version", help="Print the version and end.")) -> None:
    if version:
        from simtrain.version import VERSION

        typer.echo(VERSION)
        raise typer.Exit


def main() -> None:
    """The entry point: bad input is one line on standard error and exit code 2."""
    try:
        build()()
    except InputError as error:
        fail(error)
    except BrokenPipeError:
        # Whoever read our output has gone; Python would complain once more while closing it.
        sys.stderr.close()
        sys.exit(1)
