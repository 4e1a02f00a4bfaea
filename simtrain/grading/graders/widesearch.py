"""The table that a question asks for, scored as in WideSearch, strictly by default."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from functools import partial
from typing import ClassVar, Literal, TypeAlias, cast

from pydantic import Field, ValidationError, model_validator

from simtrain.contracts.grader import Grader, score
from simtrain.contracts.question import Column, Question, gold_csv, normal_name
from simtrain.contracts.trajectory import Reward, Trajectory
from simtrain.contracts.world import FinishedWorld, World
from simtrain.llm.knobs import ModelKnobs
from simtrain.perturbations.reply_edits import leaves
from simtrain.questions.asked_for import asks_for_something, given_cells, is_sought
from simtrain.questions.gathering import Gathered, gather
from simtrain.questions.widesearch.aliases import aliases_in
from simtrain.questions.widesearch.arbiter import Arbiter, Known
from simtrain.questions.widesearch.asking import Asking
from simtrain.questions.widesearch.compatible import score_compatible
from simtrain.questions.widesearch.rules import rules_of_question
from simtrain.questions.widesearch.scores import Measure, Scores
from simtrain.questions.widesearch.strict import score_question
from simtrain.values.errors import InputError
from simtrain.values.tool_words import tool_words
from simtrain.values.types import JsonObject, JsonValue, encode
from simtrain.worlds.search.engine.page_opening import MOVED_TO

Measured: TypeAlias = Literal[
    "success", "item_f1", "row_f1", "item_precision", "item_recall", "row_precision", "row_recall", "citation"
]

Stated: TypeAlias = tuple[str, int, str | None]
"""A fact on a page: `type.attribute`, row id, and the site if it is a claim of that site, else None."""


_WORDS = re.compile(r"\w+")


class WideSearch(Grader):
    """The table in the answer compared with the gold table, which the question's SQL returns over the initial world.

    The question is the case, or `sql`, `key` and `columns` here (the case then gives the SQL's parameters). Names are
    aligned by the aliases that the world knows, and by a model if `ask` names one. `reward` is one measure or a
    weighted mix, over what had to be found out: cells that the question gives earn nothing, nor do those without a
    value. The detail also has the public figures.
    """

    example: ClassVar[JsonObject] = {
        "with": {"sql": "select name from cakes where stock > 5", "key": ["name"], "columns": [{"name": "name"}]}
    }

    reward: Measured | dict[Measured, float] = Field(
        "item_f1",
        description="The measure to reward: success, citation, or f1, precision or recall by item_ or row_; or a "
        "mix: measure -> weight.",
    )
    mode: Literal["strict", "compatible"] = Field(
        "strict", description="strict, or compatible: the reference's figures, its defects included."
    )
    as_of: date | None = Field(None, description="The day that compatible scoring takes for today.")
    sql: str | None = Field(None, description="A SELECT that gives the gold table, instead of the case's question.")
    key: tuple[str, ...] = Field((), description="The columns that identify a row, with `sql`.")
    columns: tuple[Column, ...] = Field((), description="The columns and how each is compared, with `sql`.")
    ask: ModelKnobs | None = Field(None, description="A chat model that aligns and judges what code cannot tell.")

    @model_validator(mode="after")
    def _fits_together(self) -> WideSearch:
        if (self.sql is None) != (not self.columns) or (self.sql is None) != (not self.key):
            raise ValueError("`sql`, `key` and `columns` go together")
        if self.mode == "compatible" and self.as_of is None:
            raise ValueError("compatible scoring needs `as_of`, since its figures depend on the day")
        weights = self._weights.values()
        if any(weight < 0 for weight in weights) or not sum(weights) > 0:
            raise ValueError("the weights of `reward` must not be negative, and at least one must be above 0")
        return self

    @property
    def _weights(self) -> Mapping[Measured, float]:
        return {self.reward: 1.0} if isinstance(self.reward, str) else self.reward

    def question(self, case: Mapping[str, JsonValue]) -> Question:
        """Return the question of a case. Raises InputError when it has none."""
        if self.sql is not None:
            fields: JsonObject = {"id": "case", "world": "", "query": "-", "sql": self.sql, "parameters": dict(case)}
            fields |= {"key": self.key, "columns": self.columns}
        else:
            fields = {name: case[name] for name in Question.model_fields if name in case}
        try:
            return Question.model_validate(fields)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            raise InputError(
                f"the case is not a question: {place}: {first['msg'].lower()}", remedy="give `sql`, `key` and `columns`"
            ) from None

    def gold(self, world: World, case: Mapping[str, JsonValue]) -> JsonValue:
        return self.question(case).gold(world.query)

    def check(self, world: World, case: Mapping[str, JsonValue]) -> None:
        question = self.question(case)
        gold = question.gold(world.query)
        # Cells that the question gives earn nothing, so no reward could be earned.
        if gold and self.sql is None and not asks_for_something(gold, given_cells(question, gold, question.query)):
            raise InputError(
                "every cell of the gold is in the question or has no value, so nothing is left to find out"
            )
        if "citation" not in self._weights:
            return
        if question.evidence is None:
            raise InputError("`citation` needs a question with evidence", place="reward")
        if gold and not any(facts for row in gather(question, world).cells for facts in row):
            raise InputError("the evidence of the question yields no fact", place="evidence")

    async def ready(self) -> None:
        if self.ask is not None:
            await self.ask.ready()

    async def close(self) -> None:
        """Close the connections to the model."""
        if self.ask is not None:
            await self.ask.close()

    async def grade(self, trajectory: Trajectory, world: FinishedWorld) -> Reward:
        """Return the reward. Raises ModelFault when the model to ask is unavailable or its reply cannot be read."""
        question = self.question(trajectory.case)
        if question.answer == "unanswerable":
            return _declined(trajectory, question, world.initial)
        if trajectory.stop.reason != "answered" or trajectory.answer is None:
            return score(0.0, reason=f"no answer: the episode ended with {trajectory.stop.reason}")
        gold = question.gold(world.initial.query)
        given = given_cells(question, gold, trajectory.prompt if self.sql is not None else question.query)
        arbiter = self._arbiter(world.initial, question, gold)
        strictly = partial(score_question, question, gold, trajectory.answer, arbiter=arbiter, given=given)
        if self.mode == "strict":
            scores = await strictly()
            measured = _measured(scores.success, scores.found_rows, scores.found_items)
        else:
            scores = await self._compatible(question, gold, trajectory.answer, arbiter)
            measured = _measured(scores.success, scores.rows, scores.items)
        detail = (
            scores.facts()
            | _table(question, scores)
            | {"rewarded": {name: measured[name] for name in measured if name != "success"}}
        )
        # Credit for a cited cell needs the strict alignment of rows, in compatible mode as well.
        if "citation" in self._weights:
            exact = scores if self.mode == "strict" else await strictly()
            stated = _stated(world.initial, _opened(trajectory))
            measured["citation"] = _citation(gather(question, world.initial), exact, question, stated, given)
            detail["citation"] = measured["citation"]
        total = sum(self._weights.values())
        # A measure can be a hair above 1 in floating point.
        value = sum(min(1.0, measured[name]) * weight for name, weight in self._weights.items()) / total
        if isinstance(arbiter, Asking):
            usage = arbiter.replies.usage
            detail |= {"model": arbiter.replies.client.model, "usage": {"tokens": usage.tokens, "cost": usage.cost}}
        return score(value, **detail)

    async def _compatible(
        self, question: Question, gold: Sequence[JsonObject], answer: str, arbiter: Arbiter
    ) -> Scores:
        rules, table = rules_of_question(question), gold_csv(question.columns, gold)
        return await score_compatible(rules, table, answer, as_of=cast(date, self.as_of), arbiter=arbiter)

    def _arbiter(self, world: World, question: Question, gold: Sequence[JsonObject]) -> Arbiter:
        named = [(column.names, {str(row[column.name]) for row in gold}) for column in question.columns if column.names]
        known = Known(aliases=aliases_in(world, named), exact=self.mode == "compatible")
        return known if self.ask is None else Asking(self.ask.client, known, self.ask.sampling())


def _table(question: Question, scores: Scores) -> JsonObject:
    """Return the answer cell by cell, as `columns` and `rows`; nothing where the mode does not tell."""
    rows = [row.facts() for row in scores.table]
    return {"table": {"columns": [column.name for column in question.columns], "rows": rows}} if rows else {}


def _measured(success: float, rows: Measure, items: Measure) -> dict[Measured, float]:
    return {
        "success": success,
        "item_f1": items.f1,
        "row_f1": rows.f1,
        "item_precision": items.precision,
        "item_recall": items.recall,
        "row_precision": rows.precision,
        "row_recall": rows.recall,
    }


def _citation(
    gathered: Gathered,
    scores: Scores,
    question: Question,
    stated: frozenset[Stated],
    given: frozenset[tuple[str, str]],
) -> float:
    """Return the share of required cells that are right and whose facts were on opened pages.

    A cell of several facts counts in part. Cells that the question gives are not required, nor are those without a fact, which no
    page can state.
    """
    columns = {normal_name(column.name): place for place, column in enumerate(question.columns)}
    sought = [[is_sought(name, str(cell), given) for name, cell in row.items()] for row in gathered.rows]
    due = sum(map(sum, sought))
    found = 0.0
    for cell in scores.cells:
        place = columns[cell.column]
        needed = gathered.cells[cell.row][place]
        if cell.credit == 1 and needed and sought[cell.row][place]:
            found += sum((f"{fact.type}.{fact.name}", fact.entity, fact.site) in stated for fact in needed) / len(
                needed
            )
    return found / due if due else 0.0


def _stated(world: World, urls: Iterable[str]) -> frozenset[Stated]:
    """Return the facts on these pages: true ones under None, and every statement under the site that makes it."""
    rows = world.query(
        "select distinct a.type || '.' || a.name as attribute, s.entity as entity, w.name as site, s.claim is null as true "
        "from _pages p join _statements s on s.page = p.id join _attributes a on a.id = s.attribute "
        "join _sites w on w.id = p.site where p.url in (select value from json_each(:urls))",
        {"urls": encode(sorted(urls))},
    )
    claims = {(row["attribute"], row["entity"], row["site"]) for row in rows}
    return frozenset(claims | {(row["attribute"], row["entity"], None) for row in rows if row["true"]})


def _opened(trajectory: Trajectory) -> set[str]:
    """Return the URLs of the pages that were opened, whatever the tools and arguments are called.

    They are the URLs in the arguments of calls, and those in the replies, since a page may have moved. A URL that a reply reports as
    failed was not opened. The URLs in a list of search results were not opened either.
    """
    found: set[str] = set()
    for step in trajectory.steps:
        requested = {value for _, value in leaves(step.action.arguments) if _is_url(value)}
        # Without a URL in the arguments the call opened no page.
        if step.observation.is_error or not requested:
            continue
        # Search results name pages without opening them.
        shown = None if tool_words(step.action.tool).intent == "search" else step.observation.content
        replied = [(place, value) for place, value in leaves(shown) if _is_url(value)]
        failed = {value for place, value in replied if "fail" in str(place[0])}
        found.update((requested | {value for _, value in replied}) - failed)
    # A fragment names a place in the same page. Moved pages count under both addresses.
    whole = {url.partition("#")[0] for url in found}
    return whole | {_before_it_moved(url) for url in whole}


def _declined(trajectory: Trajectory, question: Question, world: World) -> Reward:
    """Return 1 if a question without an answer was declined after looking for what it is about, else 0."""
    if trajectory.stop.reason != "abstained":
        return score(0.0, reason="the question has no answer")
    names = question.premise.names if question.premise else ()
    unseen = [name for name in names if not _looked_for(trajectory, name, world)]
    if unseen:
        return score(0.0, reason=f"the question has no answer, but {' and '.join(unseen)} was not looked for")
    return score(1.0, reason="the question has no answer, and what it rests on was looked for")


def _looked_for(trajectory: Trajectory, name: str, world: World) -> bool:
    """Return True if a successful search had all words of a name, or an opened page contains it."""
    words = set(_WORDS.findall(name.casefold()))
    for step in trajectory.steps:
        if step.observation.is_error or tool_words(step.action.tool).intent != "search":
            continue
        queries = (value for _, value in leaves(step.action.arguments) if isinstance(value, str))
        if any(words <= set(_WORDS.findall(query.casefold())) for query in queries):
            return True
    pages = world.query(
        "select title || ' ' || body as text from _pages where url in (select value from json_each(:urls))",
        {"urls": encode(sorted(_opened(trajectory)))},
    )
    return any(name.casefold() in str(page["text"]).casefold() for page in pages)


def _is_url(value: JsonValue) -> bool:
    return isinstance(value, str) and "://" in value and not any(sign.isspace() for sign in value)


def _before_it_moved(url: str) -> str:
    scheme, _, place = url.partition("://")
    host, _, path = place.partition("/")
    return f"{scheme}://{host}{f'/{path}'.removeprefix(MOVED_TO)}"
