"""Scores a response in a line: rules by column, a gold table, and the figures that come of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import date

from simtrain.contracts.question import Column
from simtrain.questions.widesearch.arbiter import Arbiter, Known
from simtrain.questions.widesearch.compatible import score_compatible
from simtrain.questions.widesearch.rules import TableRules
from simtrain.questions.widesearch.scores import Scores
from simtrain.questions.widesearch.strict import score_strict

TODAY = date(2026, 3, 15)

OBSERVATORIES = TableRules(
    ("observatory",),
    (
        Column(name="observatory", names="observatory"),
        Column(name="founded", preprocess=("norm_date",), metric=("date_near",)),
        Column(name="mirror", preprocess=("extract_number",), metric=("number_near",), criterion=0.05),
        Column(name="director", metric=("llm_judge",), criterion="The same person."),
    ),
)
GOLD = [
    ("Velkora Heights", "1987-04-12", "4.2 m", "Ysolde Trammick"),
    ("Brannoch Point", "1999-11-03", "2.5 m", "Odo Fennwarren"),
    ("Quill Island", "2004-06-30", "6.8 m", "Marit Sundegaard"),
]


def table(
    rows: Sequence[Sequence[str]], *, heading: Sequence[str] = ("Observatory", "Founded", "Mirror", "Director")
) -> str:
    """Rows as a Markdown table."""
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def fenced(rows: Sequence[Sequence[str]]) -> str:
    """Rows as the fenced block that the benchmark asks for."""
    return f"```markdown\n{table(rows)}\n```"


def strict(
    response: str | None,
    *,
    gold: Sequence[tuple[str, ...]] = tuple(GOLD),
    rules: TableRules = OBSERVATORIES,
    arbiter: Arbiter | None = None,
    single: bool = False,
) -> Scores:
    """The strict figures."""
    return asyncio.run(score_strict(rules, gold, response, arbiter=arbiter, single=single))


def compatible(
    response: str | None,
    *,
    gold: Sequence[tuple[str, ...]] = tuple(GOLD),
    rules: TableRules = OBSERVATORIES,
    aliases: Mapping[str, str] | None = None,
    as_of: date = TODAY,
) -> Scores:
    """The reference's figures."""
    text = "\n".join(",".join(f'"{cell}"' for cell in row) for row in [rules.names, *gold]) + "\n"
    known = Known(aliases=aliases or {}, exact=True)
    return asyncio.run(score_compatible(rules, text, response, as_of=as_of, arbiter=known))


def cell(gold: str, given: str, column: Column) -> float:
    """The strict credit of one cell, in a table of one row."""
    rules = TableRules(("k",), (Column(name="k"), column))
    heading = ("K", column.name)
    found = strict(table([["a", given.replace("|", "\\|")]], heading=heading), gold=[("a", gold)], rules=rules)
    return next(entry.credit for entry in found.cells if entry.column == column.name)
