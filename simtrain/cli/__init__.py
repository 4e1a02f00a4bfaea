"""The command line: one file for each command, which parses, calls and prints. Imports everything below."""

import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import NoReturn

import typer

from simtrain.cli.completion_command import VARIABLE
from simtrain.cli.options import fail, fail_usage
from simtrain.cli.terminal import fitting_streams
from simtrain.values.errors import InputError, SimtrainError

# In the order of the help page: what is used most comes first.
COMMANDS = (
    "run",
    "drill",
    "validate",
    "list",
    "show",
    "view",
    "report",
    "replay",
    "fork",
    "grade",
    "export",
    "leaks",
    "schema",
    "init",
    "new",
    "doctor",
    "completion",
    "capture",
    "verify",
    "serve",
    "episode",
    "relay",
    "capture-tokens",
    "world",
    "score-widesearch",
    "curriculum",
    "train",
)


def build() -> typer.Typer:
    """Return the application with all its commands."""
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
        # Command modules import what they need inside their functions: `simtrain --help` loads all of them.
        module = import_module(f"simtrain.cli.{name.replace('-', '_')}_command")
        if not hasattr(module, "command"):
            verbs = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
            for verb in module.VERBS:
                _add(verbs, verb, import_module(f"simtrain.cli.{name}_{verb}"))
            app.add_typer(verbs, name=name, help=module.HELP, short_help=_first_line(module.HELP))
        else:
            _add(app, name, module)
    return app


def _add(app: typer.Typer, name: str, module: ModuleType) -> None:
    app.command(name, help=module.HELP, short_help=_first_line(module.HELP))(module.command)


def _first_line(text: str) -> str:
    return text.partition("\n")[0]


def _version(version: bool = typer.Option(False, "--version", help="Print the version and end.")) -> None:
    if version:
        from simtrain.values.version import VERSION

        typer.echo(VERSION)
        raise typer.Exit


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line; `arguments` default to those of the process.

    Ends with exit code 0, 1 (ran with failures) or 2 (bad input, reported in one line on standard error).
    """
    # Around everything, errors included: names in messages come from untrusted files.
    with fitting_streams():
        _carry_out(arguments)


def _carry_out(arguments: Sequence[str] | None) -> NoReturn:
    if VARIABLE in os.environ:
        # Typer does not export it.
        from typer._completion_classes import completion_init

        completion_init()
    try:
        code = build()(args=arguments, prog_name="simtrain", standalone_mode=False)
    except InputError as error:
        fail(str(error))
    # The input was fine, so not exit code 2.
    except SimtrainError as error:
        fail(str(error), code=1)
    except typer.TyperException as error:
        fail_usage(error)
    except BrokenPipeError:
        # The reader of our output is gone; closing the stream would make Python report the same error again.
        sys.stderr.close()
        sys.exit(1)
    except RuntimeError as error:
        # Raised by pathlib before Python 3.13.
        if not str(error).startswith("Symlink loop"):
            raise
        fail(str(error))
    # A full disk or a missing permission is no reason for a traceback.
    except OSError as error:
        fail(": ".join(str(part) for part in (error.filename, error.strerror or error) if part))
    sys.exit(code)
