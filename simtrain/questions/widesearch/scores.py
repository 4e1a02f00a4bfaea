"""The figures of one answer, of the trials of a question, and of a whole benchmark."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from simtrain.values.types import JsonObject


@dataclass(frozen=True, slots=True)
class Measure:
    """Precision, the share of what was given that is right, and recall, the share of what is right that was given."""

    precision: float = 0.0
    recall: float = 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of both; 0 if both are 0."""
        both = self.precision + self.recall
        # The limit is that of the reference's evaluator.
        return 2 * self.precision * self.recall / both if both > 1e-9 else 0.0


@dataclass(frozen=True, slots=True)
class ColumnLoss:
    """A column's gold cells: `right` (credit earned), `wrong` in a row that was found, and `absent` with their row."""

    name: str
    right: float
    wrong: float
    absent: float


@dataclass(frozen=True, slots=True)
class GoldCell:
    """A gold cell and its credit; `row` counts the gold rows from 0."""

    row: int
    column: str
    credit: float


@dataclass(frozen=True, slots=True)
class ScoredRow:
    """A row of the answer beside its gold row, with the credit of each cell.

    `given` is None for a gold row that the answer lacks, `gold` for a row that was not asked for, or that repeats a key.
    """

    given: tuple[str, ...] | None
    gold: tuple[str, ...] | None
    credits: tuple[float, ...] = ()

    def facts(self) -> JsonObject:
        """Return the row as JSON: gold only of the cells that earned nothing, as the others say it themselves."""
        if self.gold is None:
            return {"given": list(self.given or ())}
        if self.given is None:
            return {"gold": list(self.gold)}
        gold = [None if credit == 1 else cell for cell, credit in zip(self.gold, self.credits, strict=True)]
        whole = all(credit == 1 for credit in self.credits)
        return {"given": list(self.given)} | ({"credit": 1} if whole else {"credit": list(self.credits), "gold": gold})


@dataclass(frozen=True, slots=True)
class Scores:
    """The figures of one answer. `reason` says why all of them are zero, where they are.

    `cells` are the gold cells of the rows that were found, `faults` what a model could not settle (compatible mode only). `found_rows` and
    `found_items` count only what had to be found out (strict mode, where it is known which cells the question gives). `table` is the
    answer row by row (strict mode only): rows with a gold row, others, then gold rows that it lacks.
    """

    success: float = 0.0
    rows: Measure = Measure()
    items: Measure = Measure()
    gold_rows: int = 0
    given_rows: int = 0
    columns: tuple[ColumnLoss, ...] = ()
    cells: tuple[GoldCell, ...] = ()
    reason: str = ""
    faults: tuple[str, ...] = field(default=())
    found_rows: Measure = Measure()
    found_items: Measure = Measure()
    table: tuple[ScoredRow, ...] = ()

    def figures(self) -> dict[str, float]:
        """Return the figures by the names that WideSearch's own evaluator gives them; `score` is success, 1 or 0."""
        return {
            "score": self.success,
            "precision_by_row": self.rows.precision,
            "recall_by_row": self.rows.recall,
            "f1_by_row": self.rows.f1,
            "precision_by_item": self.items.precision,
            "recall_by_item": self.items.recall,
            "f1_by_item": self.items.f1,
        }

    def facts(self) -> JsonObject:
        """Return everything as JSON, for a report."""
        return {
            **self.figures(),
            "gold_rows": self.gold_rows,
            "given_rows": self.given_rows,
            "columns": by_column(self.columns),
            **({"reason": self.reason} if self.reason else {}),
            **({"faults": list(self.faults)} if self.faults else {}),
        }


def by_column(losses: Iterable[ColumnLoss]) -> JsonObject:
    """Return losses by the names of their columns."""
    return {loss.name: {"right": loss.right, "wrong": loss.wrong, "absent": loss.absent} for loss in losses}


FIGURES = tuple(Scores().figures())


def measure(credit: float, *, given: float, gold: float) -> Measure:
    """Return precision and recall of a credit among what was given and what is right."""
    return Measure(credit / given if given else 0.0, credit / gold if gold else 0.0)


def over_trials(trials: Sequence[Scores]) -> JsonObject:
    """Return the figures of one question over its trials: Avg@N of each figure, Max@N of each, Pass@N (any success)."""
    figures = [scores.figures() for scores in trials]
    return {
        "trials": len(trials),
        "avg": {name: sum(found[name] for found in figures) / len(figures) for name in FIGURES},
        "max": {name: max(found[name] for found in figures) for name in FIGURES},
        "pass": float(any(found["score"] == 1 for found in figures)),
    }


def over_questions(questions: Sequence[JsonObject]) -> JsonObject:
    """Return the means over all questions of the results of `over_trials`; zeros if there is no question."""
    count = len(questions) or 1
    return {
        "questions": len(questions),
        "avg": {name: sum(found["avg"][name] for found in questions) / count for name in FIGURES},
        "max": {name: sum(found["max"][name] for found in questions) / count for name in FIGURES},
        "pass": sum(found["pass"] for found in questions) / count,
    }


def total_losses(answers: Iterable[Scores]) -> list[ColumnLoss]:
    """Return the losses of all answers together, by column, in the order in which columns first come."""
    found: dict[str, ColumnLoss] = {}
    for scores in answers:
        for loss in scores.columns:
            so_far = found.get(loss.name, ColumnLoss(loss.name, 0.0, 0.0, 0.0))
            found[loss.name] = ColumnLoss(
                loss.name, so_far.right + loss.right, so_far.wrong + loss.wrong, so_far.absent + loss.absent
            )
    return list(found.values())
