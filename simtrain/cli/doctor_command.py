"""`simtrain doctor`: check that everything that simtrain needs is installed."""

import sys
from typing import Annotated

import typer

from simtrain.cli.options import console, print_json

HELP = """Check this installation, and say what is missing.

Checks Python, packages, SQLite, the plug-ins of other packages, where names
are looked up, the built-in worlds, the sandboxes in which Python runs, the
variables of model servers (never their values) and the disk. Exit code 1 if
something required is missing; a note is about something optional.

--build first makes the sandbox `wasm`: CPython with pytest, once for this
machine, in about a minute and 130 MB of the user's cache.

\b
Examples:
  simtrain doctor
  simtrain doctor --build
  simtrain doctor --json
"""


def command(
    as_json: Annotated[bool, typer.Option("--json", help="Print `ok` and a list of checks as JSON.")] = False,
    build: Annotated[bool, typer.Option("--build", help="Build the sandbox `wasm` first, unless it is there.")] = False,
) -> None:
    """Make all checks and print them."""
    if build:
        _build(quiet=as_json)
    from dataclasses import asdict

    from simtrain.cli.checks import all_checks, shipped_worlds
    from simtrain.cli.progress import Counting
    from simtrain.cli.tables import WIDTH, parted, plain_table, short

    with Counting("building worlds", total=len(shipped_worlds()), quiet=as_json) as counting:
        checks = all_checks(counting.advance)
    ok = all(check.ok for check in checks if check.needed)
    if as_json:
        print_json({"ok": ok, "checks": [asdict(check) for check in checks]})
    else:
        table = plain_table(
            "", "check", "found", legend="note: may be missing; MISSING: simtrain does not work without it"
        )
        names = [short(check.name) for check in checks]
        room = WIDTH - len("MISSING") - max(map(len, names)) - 4
        for name, check in zip(names, checks, strict=True):
            state = "ok" if check.ok else "MISSING" if check.needed else "note"
            table.add_row(state, name, parted(check.found, room))
        console().print(table)
    if not ok:
        sys.exit(1)


def _build(*, quiet: bool) -> None:
    """Build the component of the sandbox `wasm` if it is not in the cache. Raises InputError."""
    from simtrain.worlds.sandbox.wasm.component import build_component, found_component

    if found_component() is None:
        build_component(on_step=lambda step: None if quiet else console().print(f"{step} ..."))
