"""The contract of questions over search worlds: the wording, the SQL of the gold table, and how each column is compared."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, TypeAlias

from pydantic import Field, model_validator

from simtrain.files.file_model import FileModel
from simtrain.values.errors import InputError
from simtrain.values.types import JsonObject, JsonValue, encode

Language: TypeAlias = Literal["en", "zh"]
Preprocess: TypeAlias = Literal["norm_str", "extract_number", "norm_date"]
Metric: TypeAlias = Literal["exact_match", "in_match", "url_match", "number_near", "date_near", "llm_judge"]
AnswerKind: TypeAlias = Literal["table", "single", "unanswerable"]
PremiseKind: TypeAlias = Literal["invented", "namesake", "apart", "untold"]
Query: TypeAlias = Callable[[str, Mapping[str, JsonValue]], list[JsonObject]]
"""Runs one SELECT over the facts of a world: (SQL, parameters) -> rows."""

SYSTEM: Final = """\
You answer a question by searching the web and reading pages. Use only what the tools return; never invent a value.
What a search returns are excerpts: open the pages that matter, and follow lists to their last page.

When you are done, reply without any tool call: a line that starts with "ANSWER:", and after it the whole answer, such as the table
that is asked for. If the question cannot be answered, do not guess: end with a line that starts with "CANNOT:", followed by the reason."""
"""Default system prompt of questions."""

MISSING: Final = "N/A"
"""The content of a gold cell, and the text that a question asks for, if a fact does not exist."""


UNANSWERABLE: Final = "unanswerable"
"""The kind of answer that there is none; under `compose`, the kind of question that has none."""

UNANSWERABLE_SHARE: Final = 0.08
"""Default share of composed questions that have no answer."""


class Column(FileModel):
    """A column of the table that a question asks for, with WideSearch's rules of comparison."""

    name: str = Field(min_length=1, description="As the question asks for it, and as the SQL names it.")
    preprocess: tuple[Preprocess, ...] = ("norm_str",)
    metric: tuple[Metric, ...] = ("exact_match",)
    criterion: float | str | None = Field(
        default=None, description="The tolerance of number_near, or what llm_judge judges by."
    )
    names: str | None = Field(
        default=None, description="The entity type whose names stand here; the world knows their aliases."
    )
    words: dict[str, str] = Field(
        default_factory=dict, description="Categories in the question's language, each with the page's word for it."
    )


class Fact(FileModel):
    """An attribute (`station.crew`) of the row whose id is in the column `entity` of the evidence."""

    attribute: str = Field(pattern=r"^\w+\.\w+$")
    entity: str


class CellSource(Fact):
    """The source of a gold cell: one fact, or the combined facts of all rows that share its key.

    With `site`, the value that this site states, true or not.
    """

    combine: Literal["value", "count", "sum", "mean"] = "value"
    site: str | None = None


class Evidence(FileModel):
    """The facts that a gold table rests on.

    `sql`, with the question's parameters, yields the question's key columns (by name, to find the gold row) and columns of row ids;
    several rows may share a key. `cells` is the origin of each column, `deciding` the facts by which rows belong to the answer.
    """

    sql: str
    cells: dict[str, CellSource]
    deciding: tuple[Fact, ...] = ()


class Difficulty(FileModel):
    """The effort of answering, measured on a path found through the search engine.

    Counts: `searches` and `visits` of the oracle, `facts` to gather, `hops` between entities, gold `rows` and `columns`, `pages` on
    which the facts are stated (1: the answer is readable from one page), `distractors` (entities that fail exactly one condition).
    `conflict` is the share of needed facts that some page states otherwise.
    """

    searches: int = 0
    visits: int = 0
    facts: int = 0
    hops: int = 0
    rows: int = 0
    columns: int = 0
    pages: int = 0
    distractors: int = 0
    conflict: float = 0.0

    @property
    def calls(self) -> int:
        """Return the number of searches and visits together: the step budget of the oracle."""
        return self.searches + self.visits


class Premise(FileModel):
    """The false premise of an unanswerable question, and the names whose search reveals it.

    `invented`: the name does not exist. `namesake`: only an entity of another type has it. `apart`: the entity exists, but has no
    such relation. `untold`: the entities exist, but no page states the requested facts.
    """

    kind: PremiseKind
    names: tuple[str, ...] = Field(min_length=1)


class Question(FileModel):
    """A question with a computed answer.

    The gold table is what `sql` with `parameters` (`:name`) yields over the facts; its columns are `columns`, in that order.
    A `single` answer is one row of one column, and a bare value is accepted. An `unanswerable` question has no gold
    table: an agent is right if it searches for the names in `premise` and then abstains.
    """

    id: str = Field(min_length=1)
    world: str
    language: Language = "en"
    query: str = Field(min_length=1)
    sql: str
    parameters: dict[str, JsonValue] = Field(default_factory=dict)
    key: tuple[str, ...] = Field(min_length=1, description="The columns that identify a row.")
    columns: tuple[Column, ...] = Field(min_length=1)
    skeleton: str = Field(
        default="", description="The SQL with its constants removed, by which families are told apart."
    )
    difficulty: Difficulty = Difficulty()
    answer: AnswerKind = "table"
    evidence: Evidence | None = None
    premise: Premise | None = None

    @model_validator(mode="after")
    def _keys_are_columns(self) -> Question:
        names = [column.name for column in self.columns]
        folded = [normal_name(name) for name in names]
        if len(set(folded)) < len(folded):
            raise ValueError("two columns have the same name")
        for key in self.key:
            if key not in names:
                raise ValueError(f"the key {key!r} is not a column")
        if self.answer == "single" and len(names) != 1:
            raise ValueError("a single answer has one column")
        if (self.answer == "unanswerable") != (self.premise is not None):
            raise ValueError("an unanswerable question has a premise, and no other has one")
        return self

    def gold(self, query: Query) -> list[JsonObject]:
        """Return the gold table, values as text, in the order of the SQL; empty for an unanswerable question.

        Raises InputError when it has no rows, other columns, or two rows with one key.
        """
        if self.answer == "unanswerable":
            return []
        rows = query(self.sql, self.parameters)
        if not rows:
            raise InputError(f"the SQL of question {self.id!r} yields no row", place="sql")
        names = [column.name for column in self.columns]
        if list(rows[0]) != names:
            raise InputError(
                f"the SQL of question {self.id!r} yields the columns {', '.join(rows[0])}, not {', '.join(names)}",
                place="sql",
            )
        if self.answer == "single" and len(rows) != 1:
            raise InputError(f"the SQL of question {self.id!r} yields {len(rows)} rows, not one", place="sql")
        seen: set[tuple[str, ...]] = set()
        table: list[JsonObject] = []
        for row in rows:
            cells = {name: cell_text(row[name]) for name in names}
            # WideSearch compares keys without case: two rows that differ only in case would be one.
            key = tuple(cells[name].casefold() for name in self.key)
            if key in seen:
                raise InputError(
                    f"the SQL of question {self.id!r} is ambiguous: two rows with the key {', '.join(key)}", place="key"
                )
            seen.add(key)
            table.append(dict(cells))
        return table

    def evaluation(self) -> JsonObject:
        """Return WideSearch's `evaluation` object, its column names normalised."""
        return {
            "unique_columns": [normal_name(name) for name in self.key],
            "required": [normal_name(column.name) for column in self.columns],
            "eval_pipeline": {
                normal_name(column.name): {
                    "preprocess": list(column.preprocess),
                    "metric": list(column.metric),
                    **({} if column.criterion is None else {"criterion": column.criterion}),
                }
                for column in self.columns
            },
        }

    def widesearch(self) -> JsonObject:
        """Return the question as a row of WideSearch's own file, in which `evaluation` is JSON text."""
        return {
            "instance_id": self.id,
            "query": self.query,
            # In WideSearch's own file this field is a JSON string.
            "evaluation": encode(self.evaluation()),
            "language": self.language,
        }


class FamilyColumn(FileModel):
    """A column of a hand-written family: its attribute (`station.crew`), and the entity it belongs to.

    `of` names the column with the name of the entity, or the parameter that is its name (`:station`); left out, it is the first
    key. A column of names is its own.
    """

    attribute: str = Field(pattern=r"^\w+\.\w+$")
    of: str | None = None
    tolerance: float | None = Field(default=None, ge=0, description="How far, as a share, a number may be off.")


class HandwrittenFamily(FileModel):
    """Questions written by hand: SQL for the gold table, the words around its parameters, and SQL that gives these."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    sql: str
    key: tuple[str, ...] = Field(min_length=1)
    columns: dict[str, FamilyColumn] = Field(min_length=1)
    wording: dict[Language, tuple[str, ...]] = Field(
        min_length=1, description="Jinja over the parameters; several styles."
    )
    parameters: str = Field(default="select 1 as one", alias="with", description="A SELECT, one question for each row.")
    answer: Literal["table", "single"] = "table"


class QuestionSet(FileModel):
    """Which questions are asked of a world: composed by walking its schema, or the families written here."""

    count: int = Field(default=100, ge=1, le=100_000)
    hops: tuple[int, int] = (0, 4)
    rows: tuple[int, int] = (3, 40)
    columns: tuple[int, int] | None = Field(
        default=None, description="Fewest and most columns; left out, as many as each kind has by itself, at most 6."
    )
    languages: tuple[Language, ...] | None = Field(
        default=None, min_length=1, description="Left out, those that the world has words for."
    )
    compose: tuple[str, ...] | None = Field(default=None, description="The kinds of composed question; left out, all.")
    unanswerable: float = Field(
        default=UNANSWERABLE_SHARE, ge=0, le=1, description="The share of composed questions that have no answer."
    )
    families: tuple[HandwrittenFamily, ...] = Field(default=(), description="Ask these instead of composed questions.")

    @model_validator(mode="after")
    def _bounds_run_forwards(self) -> QuestionSet:
        for name in ("hops", "rows", "columns"):
            low, high = getattr(self, name) or (1, 1)
            if not 0 <= low <= high:
                raise ValueError(f"`{name}` begins with its lower end")
        if self.columns is not None and self.columns[0] < 2:
            raise ValueError("a table has at least two columns")
        if self.rows[0] < 1:
            raise ValueError("a gold table has at least one row")
        if self.families and self.compose is not None:
            raise ValueError("either `families` or `compose`, not both")
        return self


def normal_name(name: str) -> str:
    """Return a column's name as WideSearch compares it: stripped, lower-cased, spaces removed."""
    return name.strip().lower().replace(" ", "")


def cell_text(value: JsonValue) -> str:
    """Return a value of the database as a gold cell: whole numbers without a fraction, N/A if there is none."""
    if value is None:
        return MISSING
    if isinstance(value, float):
        # Beyond 2^53, about 9e15, a float no longer identifies one integer.
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(round(value, 6))
    return str(value)


def gold_csv(columns: Sequence[Column], rows: Sequence[JsonObject]) -> str:
    """Return a gold table in WideSearch's format, `{instance_id}.csv`."""
    out = io.StringIO()
    writer = csv.DictWriter(out, [column.name for column in columns], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
