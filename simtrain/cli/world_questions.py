"""`simtrain world questions`: questions about a search world, with their gold tables."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simtrain.cli.completing import world_names
from simtrain.cli.options import console, print_json

if TYPE_CHECKING:
    from simtrain.questions.making import Made, QuestionMaker
    from simtrain.values.types import JsonObject

HELP = """Make questions about a search world, with their gold tables.

Families are composed by walking the world's schema: filters, joins over one
to four hops, counts and sums, rankings, dates, differences, disputed values,
single answers, questions that cannot be answered. Each is checked: one gold
table, every cell found through the world's own search engine.

Writes into the folder OUT: questions.jsonl (what a scenario reads),
widesearch.jsonl and gold/ID.csv (the format of WideSearch).

\b
Examples:
  simtrain world questions kestrel_reach --count 500 --out questions
  simtrain world questions kestrel_reach --rows 15 60 --hops 2 4 \\
      --language en --out hard --json
"""


def command(
    world: Annotated[
        str,
        typer.Argument(help="A search world by name, or its YAML file.", metavar="WORLD", autocompletion=world_names),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write; it appears whole or not at all.")],
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="How many.")] = 100,
    rows: Annotated[tuple[int, int], typer.Option("--rows", help="Fewest and most gold rows.")] = (3, 40),
    hops: Annotated[tuple[int, int], typer.Option("--hops", help="Fewest and most hops.")] = (0, 4),
    columns: Annotated[
        tuple[int, int] | None, typer.Option("--columns", help="Fewest and most columns; left out, at most 6.")
    ] = None,
    language: Annotated[
        list[str] | None, typer.Option("--language", "-l", help="en or zh; may be repeated. Both if left out.")
    ] = None,
    kind: Annotated[
        list[str] | None, typer.Option("--kind", help="Only this kind of question; may be repeated.")
    ] = None,
    pages: Annotated[int | None, typer.Option("--pages", help="About how many pages the world has.")] = None,
    world_seed: Annotated[int | None, typer.Option("--world-seed", help="Another seed than the world's own.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Other questions about the same world.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Make, write, report."""

    from simtrain.cli.built_worlds import search_source, variant_of
    from simtrain.cli.progress import Counting
    from simtrain.contracts.question import QuestionSet
    from simtrain.files.yaml_files import validated
    from simtrain.questions.asking import maker_of
    from simtrain.values.errors import InputError

    if out.exists() and not force:
        raise InputError(f"{out} already exists", remedy="choose another folder, or add --force", place="--out")
    given: JsonObject = {"count": count, "rows": rows, "hops": hops}
    optional = (("languages", language), ("compose", kind), ("columns", columns))
    given |= {name: value for name, value in optional if value}
    asked = validated(QuestionSet, given)
    built = search_source(world).build(variant_of(pages=pages, seed=world_seed))
    maker = maker_of(built, asked, seed=seed)
    with Counting("making questions", total=count, quiet=as_json) as counting:
        made = list(maker.make(count, on_made=counting.advance))
    if not made:
        raise InputError(f"no question that fits these bounds can be asked of {built.name}", remedy="widen them")
    _write(out, made)
    report = _report(made, maker, out)
    if as_json:
        print_json(report)
    else:
        _print(report, wanted=count)


def _write(out: Path, made: list[Made]) -> None:
    """Write the questions into a folder. Raises InputError where it cannot be written."""
    import orjson

    from simtrain.contracts.question import gold_csv
    from simtrain.files.whole_folder import whole_folder

    with whole_folder(out) as new:
        (new / "gold").mkdir()
        with (new / "questions.jsonl").open("wb") as ours, (new / "widesearch.jsonl").open("wb") as theirs:
            for item in made:
                ours.write(item.question.model_dump_json().encode() + b"\n")
                # WideSearch has no form for a question without an answer.
                if item.question.answer == "unanswerable":
                    continue
                theirs.write(orjson.dumps(item.question.widesearch(), option=orjson.OPT_APPEND_NEWLINE))
                table = gold_csv(item.question.columns, item.gold)
                (new / "gold" / f"{item.question.id}.csv").write_text(table, "utf-8")


def _report(made: list[Made], maker: QuestionMaker, out: Path) -> JsonObject:
    skeletons = Counter(item.question.skeleton for item in made)
    measured = [item.question.difficulty for item in made if item.question.answer != "unanswerable"]
    total = max(1, len(measured))
    means = {
        name: round(sum(float(getattr(one, name)) for one in measured) / total, 3)
        for name in ("rows", "columns", "hops", "facts", "searches", "visits", "distractors", "conflict")
    }
    return {
        "world": maker.world.name,
        "out": str(out),
        "questions": len(made),
        "answers": dict(sorted(Counter(item.question.answer for item in made).items())),
        "languages": dict(sorted(Counter(item.question.language for item in made).items())),
        "hops": {str(hops): count for hops, count in sorted(Counter(one.hops for one in measured).items())},
        "skeletons": len(skeletons),
        "largest_skeleton": round(max(skeletons.values()) / len(made), 3),
        "several_pages": round(sum(one.pages > 1 for one in measured) / total, 3),
        "means": means,
        "refused": dict(maker.refused.most_common()),
    }


def _print(report: JsonObject, *, wanted: int) -> None:
    from simtrain.cli.tables import figures_table

    screen = console()
    table = figures_table("measured", "mean", legend="of a question; docs/questions.md says how each is measured")
    for name, mean in report["means"].items():
        table.add_row(name, f"{mean:g}")
    screen.print(table)
    answers = ", ".join(f"{count} {name}" for name, count in report["answers"].items())
    screen.print(
        f"{report['questions']} questions in {report['out']} ({answers}); {report['skeletons']} SQL skeletons,"
        f" the largest {report['largest_skeleton']:.1%}; {report['several_pages']:.0%} need more than one page"
    )
    if report["questions"] < wanted:
        reasons = ", ".join(f"{count} {reason}" for reason, count in list(report["refused"].items())[:5])
        screen.print(
            f"{wanted} were wanted, but the world gives no more within these bounds; drawn and dropped: {reasons}"
        )
