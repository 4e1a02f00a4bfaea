"""The rules for comparing the tables of one question: the columns that identify a row, and the rule of each column."""

from collections.abc import Mapping
from dataclasses import dataclass

import orjson
from pydantic import ValidationError

from simtrain.contracts.question import Column, Question, normal_name
from simtrain.values.errors import InputError
from simtrain.values.types import JsonValue, is_list, is_object


@dataclass(frozen=True, slots=True)
class TableRules:
    """The rules of one question. All names are normalised (`normal_name`); `columns` holds the required ones, in order.

    `unruled` holds required columns without a rule, which are compared like names. `stray` holds columns with a rule that are not
    required.
    """

    key: tuple[str, ...]
    columns: tuple[Column, ...]
    unruled: frozenset[str] = frozenset()
    stray: frozenset[str] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the required columns, in order."""
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> Column:
        """Return the column of that normalised name."""
        return next(column for column in self.columns if column.name == name)


def rules_of_question(question: Question) -> TableRules:
    """Return the rules of a question over a search world."""
    columns = tuple(column.model_copy(update={"name": normal_name(column.name)}) for column in question.columns)
    return TableRules(tuple(normal_name(name) for name in question.key), columns)


def read_rules(evaluation: JsonValue) -> TableRules:
    """Return the rules in WideSearch's `evaluation`: an object, or JSON text of it. Raises InputError."""
    if isinstance(evaluation, str):
        try:
            evaluation = orjson.loads(evaluation)
        except orjson.JSONDecodeError as error:
            raise InputError(f"not JSON: {error}", place="evaluation") from None
    if not is_object(evaluation):
        raise InputError("an `evaluation` is an object", place="evaluation")
    key, required = _names(evaluation, "unique_columns"), _names(evaluation, "required")
    pipeline = evaluation.get("eval_pipeline")
    if not is_object(pipeline):
        raise InputError("no object `eval_pipeline`", place="evaluation")
    ruled = {normal_name(str(name)): rule for name, rule in pipeline.items()}
    for name in key:
        if name not in required:
            raise InputError(f"the key {name!r} is not among the required columns", place="evaluation.unique_columns")
    columns = tuple(_column(name, ruled.get(name)) for name in required)
    stray = {name for name in ruled if name not in required and _column(name, ruled[name]).preprocess}
    return TableRules(key, columns, frozenset(required) - frozenset(ruled), frozenset(stray))


def _names(evaluation: Mapping[str, JsonValue], field: str) -> tuple[str, ...]:
    names = evaluation.get(field)
    if not is_list(names) or not names or not all(isinstance(name, str) for name in names):
        raise InputError(f"`{field}` is not a list of column names", place="evaluation")
    found = tuple(normal_name(name) for name in names)
    if len(set(found)) < len(found):
        raise InputError(f"`{field}` names a column twice", place="evaluation")
    return found


def _column(name: str, rule: JsonValue) -> Column:
    if rule is None:
        return Column(name=name)
    place = f"evaluation.eval_pipeline.{name}"
    if not is_object(rule):
        raise InputError("a rule is an object", place=place)
    fields = {field: rule[field] for field in ("preprocess", "metric", "criterion") if rule.get(field) is not None}
    try:
        # Empty, and not Column's defaults: the reference applies only what a rule names.
        return Column.model_validate({"preprocess": (), "metric": (), **fields, "name": name})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{where}: {first['msg'].lower()}", place=place) from None
