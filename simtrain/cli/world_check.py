"""`simtrain world check`: prove that a search world is consistent, solvable and not guessable."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simtrain.cli.options import console, print_json
from simtrain.cli.shared_options import Pages, WorldName, WorldSeed
from simtrain.values.types import JsonObject, is_object

if TYPE_CHECKING:
    from simtrain.contracts.world import Variant
    from simtrain.validation.search_worlds.check import WorldCheck
    from simtrain.worlds.search.checking.pieces import AuthorProse
    from simtrain.worlds.search.source import SearchSource

MOST_WORKERS = 8

HELP = """Prove that a search world is consistent, solvable, not to be guessed.

Constraints hold; every page says what the facts (or recorded claims) say, by
a scan that knows nothing of templates; every page is reached by links or a
search; questions have one gold table each, whose cells stand on such pages
and not in the question; names are in no list of real ones (time zones; Faker
and zxcvbn where installed; --names); no other world has its prose. Of a built
file without its YAML, what the file alone shows. Exit code 1 for a problem.

\b
Examples:
  simtrain world check kestrel_reach
  simtrain world check kestrel_reach --pages 10000 --questions 1000 --json
  simtrain world check reach.sqlite --names towns.txt
  simtrain world check kestrel_reach --closed-book gpt-5.4
"""


def command(
    world: WorldName,
    questions: Annotated[int, typer.Option("--questions", min=0, help="Composed questions to audit.")] = 100,
    depth: Annotated[int, typer.Option("--depth", min=0, help="Links from a front page that count as near.")] = 4,
    names: Annotated[Path | None, typer.Option("--names", help="A list of names to avoid, one a line.")] = None,
    against: Annotated[
        list[str] | None, typer.Option("--against", help="A world to compare the prose with; else all that ship.")
    ] = None,
    model: Annotated[str | None, typer.Option("--closed-book", help="Ask this model, without tools.")] = None,
    base_url: Annotated[str | None, typer.Option("--base-url", help="Its server; else OPENAI_BASE_URL.")] = None,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", min=1, help="Most tokens in one of its replies, thinking included.")
    ] = None,
    pages: Pages = None,
    seed: WorldSeed = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Build if need be, check, print."""
    import asyncio

    from simtrain.cli.built_worlds import chosen_world
    from simtrain.cli.progress import BuildProgress
    from simtrain.llm.client import ChatClient
    from simtrain.validation.search_worlds.check import CheckOptions, WorldCheck
    from simtrain.values.errors import InputError
    from simtrain.worlds.search.checking.pieces import NOTHING
    from simtrain.worlds.search.file import blaming
    from simtrain.worlds.search.spec.units import UNITS, with_invented

    built = chosen_world(world, pages=pages, seed=seed, quiet=as_json)
    # A built file that was named itself has no YAML to compare it with.
    path, source = built.path, built.source
    if source is None and model is not None:
        raise InputError("questions need the world's YAML, not a built file alone", place="--closed-book")
    client = None if model is None else ChatClient(model, base_url=base_url)
    others = _others(against, source, quiet=as_json)
    prose = NOTHING if source is None else _prose(source)
    with blaming(path), BuildProgress(quiet=as_json) as progress:
        check = WorldCheck(
            path,
            UNITS if source is None else with_invented(source.spec.units),
            CheckOptions(
                depth=depth,
                names=names,
                others=others,
                prose=prose,
                data=None if source is None else source.document.data,
                client=client,
                sampling={} if max_tokens is None else {"max_tokens": max_tokens},
                workers=min(os.cpu_count() or 1, MOST_WORKERS),
            ),
            begin=progress.phase,
            advance=progress.advance,
        )
        try:
            asyncio.run(_checked(check, source, built.variant, questions))
        finally:
            check.close()
    if as_json:
        print_json({"world": world, "file": str(path), **check.found, "wrong": check.wrong})
    else:
        _print(world, check.found)
    if check.wrong:
        sys.exit(1)


async def _checked(check: WorldCheck, source: SearchSource | None, variant: Variant, count: int) -> None:
    from simtrain.contracts.question import QuestionSet
    from simtrain.questions.asking import made_questions
    from simtrain.worlds.search.facts.tables import check_constraints

    async with check.options.client or nullcontext():
        if source is not None:
            schema = source.design.schema
            check.constraints(lambda connection: check_constraints(connection, schema), len(source.spec.constraints))
        check.read()
        if source is not None and count:
            check.begin("composing questions", count)
            built = source.build(variant)
            made = made_questions(built, QuestionSet(count=count))
            await check.questions(built, [one.question for one in made])


def _prose(source: SearchSource) -> AuthorProse:
    """Return the author's own prose, and a model's where pages were reworded."""
    from simtrain.validation.search_worlds.prose import prose_of
    from simtrain.worlds.search.pages.rewording import read_reworded

    enriched = source.spec.enriched
    lines = () if enriched is None else read_reworded(source.document.path.parent / enriched)
    return prose_of(source.document.data, [line.text for _, line in lines])


def _others(names: list[str] | None, source: SearchSource | None, *, quiet: bool) -> tuple[tuple[str, Path], ...]:
    """Return the built files of the worlds to compare with: those named, else the built-in search worlds."""
    from simtrain.cli.built_worlds import chosen_world
    from simtrain.scenarios.find import names as known
    from simtrain.scenarios.find import shipped_root

    if names is None:
        shipped = {name: path for name, path in known("worlds").items() if path.is_relative_to(shipped_root())}
        names = [name for name, path in shipped.items() if _is_search(path)]
    own = None if source is None else source.name
    return tuple((name, chosen_world(name, quiet=quiet).path) for name in names if name != own)


def _is_search(path: Path) -> bool:
    return any(line.split("#")[0].strip() == "kind: search" for line in path.read_text(encoding="utf-8").splitlines())


def _print(world: str, found: JsonObject) -> None:
    from simtrain.cli.tables import plain_table
    from simtrain.values.terminal_text import in_line

    screen = console()
    legend = "read: what was looked at in each part, and how much of it; docs/search_checks.md explains the parts"
    table = plain_table("part", "read", "problems", title=world, legend=legend)
    for part, facts in found.items():
        read = ", ".join(_fact(name, value) for name, value in facts.items() if name not in ("problems", "wrong"))
        table.add_row(part.replace("_", " "), read, f"{facts['wrong']:,}")
    screen.print(table)
    for part, facts in found.items():
        for problem in facts["problems"][:10]:
            screen.print(f"{part}: {in_line(problem)}", soft_wrap=True)
        if facts["wrong"] > 10:
            screen.print(f"{part}: {facts['wrong'] - 10:,} more; --json shows up to 100 of a part")


def _fact(name: str, value: object) -> str:
    if is_object(value):
        parts = ", ".join(f"{key}: {part:,}" for key, part in value.items())
        return f"{name} ({parts})" if parts else f"no {name}"
    shown = f"{value:,}" if isinstance(value, int | float) else str(value)
    return f"{name} {shown}"
