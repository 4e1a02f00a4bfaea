"""`simtrain world export`: a search world as a plain corpus, with questions in WideSearch's format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simtrain.cli.shared_options import Pages, WorldName, WorldSeed

if TYPE_CHECKING:
    from simtrain.contracts.question import Question
    from simtrain.contracts.world import World

HELP = """Export a search world as a corpus, with questions and judgements.

Writes into the folder OUT: corpus (docid, url, title, date, text), queries
with answer, gold and evidence documents and qrels/ in TREC's form, as
BrowseComp-Plus has them; widesearch.jsonl, widesearch_gold/ID.csv and
aliases.json, as score-widesearch reads them. Of a built file the corpus only.

\b
Examples:
  simtrain world export kestrel_reach --out reach --questions 200
  simtrain world export kestrel_reach --out reach --ask questions.jsonl
  simtrain world export reach.sqlite --out reach --parquet --json
"""


def command(
    world: WorldName,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write; it appears whole or not at all.")],
    count: Annotated[int, typer.Option("--questions", "-n", min=0, help="Composed questions to add.")] = 100,
    ask: Annotated[Path | None, typer.Option("--ask", help="Questions of a JSONL file instead.")] = None,
    parquet: Annotated[
        bool, typer.Option("--parquet", help="Corpus and queries as Parquet (extra `parquet`).")
    ] = False,
    pages: Pages = None,
    seed: WorldSeed = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Build if need be, export, report."""
    from simtrain.cli.built_worlds import chosen_world, page_count
    from simtrain.cli.options import console, print_json
    from simtrain.cli.progress import Counting
    from simtrain.questions.corpora.export import export
    from simtrain.values.errors import InputError
    from simtrain.worlds.search.file import blaming

    if out.exists() and not force:
        raise InputError("it already exists", remedy="choose another folder, or add --force", file=out)
    found = chosen_world(world, pages=pages, seed=seed, quiet=as_json)
    path = found.path
    if found.source is None and ask is not None:
        raise InputError("questions need the world's YAML, not a built file alone", place="--ask")
    built = found.source.build(found.variant) if found.source else None
    questions = [] if built is None else _questions(built, count, ask)
    with (
        blaming(path),
        Counting("exporting", total=page_count(path) + len(questions), quiet=as_json) as counting,
    ):
        written = export(
            path,
            out,
            form="parquet" if parquet else "jsonl",
            world=built,
            questions=questions,
            force=force,
            on_step=counting.advance,
        )
    if as_json:
        print_json({"world": world, "out": str(out), "written": written})
        return
    screen = console()
    for name, rows in written.items():
        screen.print(f"{out / name}: {rows:,}", soft_wrap=True)
    left = sum(question.answer == "unanswerable" for question in questions)
    if left:
        screen.print(f"{left:,} questions without an answer are left out: nothing bears them out", soft_wrap=True)


def _questions(world: World, count: int, ask: Path | None) -> list[Question]:
    from simtrain.contracts.question import QuestionSet
    from simtrain.questions.asking import made_questions, read_questions

    if ask is not None:
        return list(read_questions(ask, world=world.name))
    return [made.question for made in made_questions(world, QuestionSet(count=count))] if count else []
