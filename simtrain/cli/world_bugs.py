"""`simtrain world bugs`: tasks from a repository with tests, each broken in one way that its tests notice."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simtrain.cli.options import console, print_json

if TYPE_CHECKING:
    from simtrain.values.types import JsonObject
    from simtrain.worlds.bugs.factory import BugFactory, Yield

HELP = """Make tasks of a repository with tests, by breaking it.

REPO is a folder of pure Python with tests, or the name of a repository that
ships with simtrain. Its code runs in the sandbox alone. Each task is one
change that a person could have made by mistake, proven by running: some
tests fail before and pass after the reference patch, all others pass
before and after. Its report says what a user sees, never where the mistake is.
Tests that do not pass as the repository is are left out, and named.

At most one task in five is by the same operator, and at most five are in the
same function. --out writes one task a line, --family a family that can be
played: a copy of the repository in worlds/repositories/, a world, a scenario
with its tasks. Without them only the yield is printed. Ctrl-C ends it with
the tasks found so far, and exit code 1.

\b
Examples:
  simtrain world bugs rota --count 60 --out rota.bugs.jsonl
  simtrain world bugs ../mylib --count 20 --family mylib_bugs
  simtrain world bugs ../mylib --tests tests/unit --count 20 --json
"""

_SHOWN = 5


def command(
    repository: Annotated[str, typer.Argument(help="A folder, or the name of a shipped one.", metavar="REPO")],
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="How many tasks.")] = 60,
    seed: Annotated[int, typer.Option("--seed", help="Other tasks of the same repository.")] = 0,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File of tasks to write, .jsonl.")] = None,
    family: Annotated[
        str | None,
        typer.Option("--family", help="Name of a family to write, with its world, into worlds/ and scenarios/."),
    ] = None,
    tests: Annotated[
        list[str] | None,
        typer.Option("--tests", help="Only tests of this file or folder; may be repeated. All that pytest finds."),
    ] = None,
    sandbox: Annotated[str, typer.Option("--sandbox", help="Where the code runs.")] = "wasm",
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, max=8, help="Runs of tests at the same time.")] = 2,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the yield as JSON.")] = False,
) -> None:
    """Make, write, report."""
    from simtrain.files.whole_folder import write_files
    from simtrain.scenarios.repositories import repository_folder
    from simtrain.values.errors import InputError
    from simtrain.worlds.bugs.family_files import family_files
    from simtrain.worlds.bugs.making import open_factory
    from simtrain.worlds.bugs.task import task_lines
    from simtrain.worlds.sandbox.naming import backend_of

    if family is not None:
        _check_family(family, repository, force=force)
    if out is not None and out.exists() and not force:
        raise InputError("the file already exists", remedy="--force replaces it", file=out)
    place = repository_folder(repository)
    for path in tests or ():
        if not (place / path.partition("::")[0]).exists():
            raise InputError(f"there is no {path} in {place}", place="--tests")
    with backend_of(sandbox).opened() as opened:
        factory = open_factory(place, opened, seed=seed, jobs=jobs, tests=tuple(tests or ()))
        made = _made(factory, count, quiet=as_json)
    if out is not None:
        write_files({out: task_lines(made.tasks).decode()})
    if family is not None and made.tasks:
        files = family_files(
            place,
            made.tasks,
            family=family,
            test_files=factory.test_files,
            only=tests or (),
            never_run=factory.never_run,
        )
        write_files(files)
    report = _report(place, made, out)
    if as_json:
        print_json(report)
    else:
        _print(report, made, wanted=count)
        if family is not None and made.tasks:
            console().print(
                f"the family {family} is in scenarios/ and worlds/; prove it: simtrain validate {family} --cases 2"
            )
    if made.interrupted:
        raise typer.Exit(1)


def _check_family(family: str, repository: str, *, force: bool) -> None:
    """Refuse, before anything is computed, a family whose files would replace others."""
    from simtrain.scenarios.repositories import repository_folder
    from simtrain.values.errors import InputError
    from simtrain.worlds.bugs.family_files import check_family_name, name_of

    check_family_name(family)
    name = name_of(repository_folder(repository))
    for path in (Path(f"scenarios/{family}.yaml"), Path(f"worlds/{name}.yaml"), Path(f"worlds/repositories/{name}")):
        if path.exists() and not force:
            raise InputError("is there already", remedy="--force replaces it", file=path)


def _made(factory: BugFactory, count: int, *, quiet: bool) -> Yield:
    from simtrain.cli.options import stopping
    from simtrain.cli.progress import Parts

    with Parts(quiet=quiet) as progress, stopping() as is_stopped:
        progress.begin("making tasks", count)
        return factory.make(
            count,
            on_tried=lambda tried, kept: progress.step(kept, f"{tried} candidates tried") if kept else None,
            is_stopped=is_stopped,
        )


def _report(place: Path, made: Yield, out: Path | None) -> JsonObject:
    from simtrain.worlds.bugs.factory import FATES

    operators: JsonObject = {}
    for name, candidates in made.candidates.items():
        fates = made.fates.get(name) or Counter[str]()
        counted = {fate: fates[fate] for fate, _ in FATES}
        operators[name] = {"candidates": candidates, "kept": made.kept(name), **counted}
    functions = {task.function for task in made.tasks}
    return {
        "repository": str(place),
        "tasks": len(made.tasks),
        "functions": len(functions),
        "out": str(out) if out else None,
        "tried": made.runs,
        "operators": operators,
        "unread": made.unread,
        "left_out": dict(made.left_out),
        "interrupted": made.interrupted,
    }


def _print(report: JsonObject, made: Yield, *, wanted: int) -> None:
    from simtrain.cli.tables import figures_table
    from simtrain.values.terminal_text import in_line
    from simtrain.worlds.bugs.factory import FATES

    screen = console()
    shown = ("survived", "unrun", "equal", "broken", "silent", "alike")
    legend = "; ".join(f"{name}: {meaning}" for name, meaning in FATES if name in shown)
    table = figures_table("operator", "found", "kept", *shown, legend=legend)
    for name, row in report["operators"].items():
        if row["candidates"]:
            table.add_row(name, *(str(row[column]) for column in ("candidates", "kept", *shown)))
    screen.print(table)
    where = f" in {report['out']}" if report["out"] else ""
    screen.print(
        f"{report['tasks']} tasks{where}, in {report['functions']} functions; {report['tried']} candidates were tried"
    )
    for path in made.unread:
        screen.print(f"left out, since this Python cannot parse it: {in_line(path)}")
    if made.left_out:
        screen.print(f"left out of all tasks, since they do not work as the repository is ({len(made.left_out)}):")
        for test, why in islice(made.left_out.items(), _SHOWN):
            screen.print(f"  {in_line(test)} ({in_line(why)})")
        if len(made.left_out) > _SHOWN:
            screen.print("  ... (--json names all)")
    if made.interrupted:
        screen.print("interrupted: these are the tasks found so far")
    elif report["tasks"] < wanted:
        screen.print(f"{wanted} were wanted, but the tests notice no more within the shares of operators and functions")
