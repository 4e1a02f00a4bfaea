"""`simtrain score-widesearch`: score answers to WideSearch's questions, or to one's own in its format."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simtrain.cli.options import console, print_json, report
from simtrain.values.errors import InputError

if TYPE_CHECKING:
    from simtrain.questions.widesearch.benchmark import Mode
    from simtrain.values.types import JsonObject

HELP = """Score answers to WideSearch questions, row by row and cell by cell.

Questions and responses are JSON Lines, gold tables CSV, as in the public
benchmark. The mode `strict` is exact and never above 1; `compatible` gives the
figures of the benchmark's own evaluator, defects included, and needs the extra
`widesearch`. Names are aligned and cells judged by code, and by a model only
if one is named. Exit code 1 if a model could not decide on an answer.

\b
Examples:
  simtrain score-widesearch --questions widesearch.jsonl \\
      --gold widesearch_gold --responses runs/answers.jsonl
  simtrain score-widesearch --questions q.jsonl --gold gold --responses out \\
      --mode compatible --as-of 2026-01-31 --model gpt-5.4 --json
"""


def command(
    questions: Annotated[Path, typer.Option("--questions", help="JSONL: instance_id, query, evaluation.")],
    gold: Annotated[Path, typer.Option("--gold", help="Folder of gold tables, INSTANCE_ID.csv.")],
    responses: Annotated[
        Path, typer.Option("--responses", help="JSONL, or a folder of it: instance_id, response, trial_idx.")
    ],
    mode: Annotated[str, typer.Option("--mode", help="strict or compatible.")] = "strict",
    as_of: Annotated[
        str | None, typer.Option("--as-of", help="The day taken for today by compatible scoring.", metavar="DATE")
    ] = None,
    aliases: Annotated[Path | None, typer.Option("--aliases", help="JSON: known names of columns and keys.")] = None,
    model: Annotated[str | None, typer.Option("--model", help="Ask this model where code cannot tell.")] = None,
    base_url: Annotated[str | None, typer.Option("--base-url", help="Its server; else OPENAI_BASE_URL.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write a JSON line for each answer here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Score, with a display when it takes long, then print the figures."""
    import asyncio

    import orjson

    from simtrain.cli.progress import Counting
    from simtrain.llm.client import ChatClient
    from simtrain.questions.widesearch.benchmark import ScoringOptions, score_all, summary
    from simtrain.questions.widesearch.files import read_known, read_questions, read_responses

    way = ScoringOptions(_mode(mode), _day(as_of), {} if aliases is None else read_known(aliases))
    # Checked before a judge is paid for answers that could not be written.
    if out is not None and (out.is_dir() or not out.parent.is_dir()):
        raise InputError("no file can be written there", remedy="name one in a folder that exists", file=out)
    asked = read_questions(questions, gold)
    answered = read_responses(responses, [question.id for question in asked])

    async def score() -> JsonObject:
        client = None if model is None else ChatClient(model, base_url=base_url)
        own = ScoringOptions(way.mode, way.as_of, way.known, client)
        async with client or nullcontext():
            return summary(await score_all(asked, answered, own, on_scored=counting.advance), own)

    with Counting("scoring", total=max(len(asked), len(answered)), quiet=as_json) as counting:
        found = asyncio.run(score())
    if out is not None:
        out.write_bytes(b"".join(orjson.dumps(answer) + b"\n" for answer in found["answers"]))
    if as_json:
        print_json(found)
    else:
        _print(found, out)
    if found["failed"]:
        first = next(answer["error"] for answer in found["answers"] if "error" in answer)
        report(f"{found['failed']} of {found['trials']} answers could not be scored: {first}")
        sys.exit(1)


def _mode(text: str) -> Mode:
    if text not in ("strict", "compatible"):
        raise InputError(f"there is no mode {text!r}", remedy="strict or compatible", place="--mode")
    return text


def _day(text: str | None) -> date:
    try:
        # The benchmark's own evaluator completes dates with today, so figures depend on the day of scoring.
        return date.today() if text is None else date.fromisoformat(text)
    except ValueError:
        raise InputError(f"{text!r} is not a date", remedy="write it like 2026-01-31", place="--as-of") from None


def _print(found: JsonObject, out: Path | None) -> None:
    from simtrain.cli.tables import figures_table, short
    from simtrain.values.terminal_text import in_line

    screen = console()
    as_of = f", as of {found['as_of']}" if "as_of" in found else ""
    title = f"{found['questions']} questions, {found['trials']} answers ({found['mode']}{as_of})"
    legend = "Avg@N, Max@N: mean and best of the answers to a question, averaged; Pass@N: share with a perfect one"
    figures = figures_table("figure", "Avg@N", "Max@N", title=title, legend=legend)
    for name in found["avg"]:
        figures.add_row(name, f"{found['avg'][name]:.4f}", f"{found['max'][name]:.4f}")
    screen.print(figures)
    screen.print(f"Pass@N {found['pass']:.4f}")
    title = "What each column lost, in cells"
    legend = "absent: cells of gold rows that no row of the answer has; lost: share of cells that are wrong or absent"
    losses = figures_table("column", "right", "wrong", "absent", "lost", title=title, legend=legend)
    for name, loss in found["columns"].items():
        cells = loss["right"] + loss["wrong"] + loss["absent"]
        lost = f"{(loss['wrong'] + loss['absent']) / cells:.1%}" if cells else "-"
        losses.add_row(short(in_line(name)), *(f"{loss[part]:g}" for part in ("right", "wrong", "absent")), lost)
    screen.print(losses)
    if out is not None:
        screen.print(f"The figures of each answer are in {out}.")
