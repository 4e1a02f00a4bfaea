"""The right values, written in an unusual way."""

import re
from datetime import datetime
from typing import Literal, TypeAlias

from pydantic import Field

from simtrain.contracts.perturbation import Call
from simtrain.perturbations.rewritten_values import RewrittenValues
from simtrain.values.comparing import is_number
from simtrain.values.months import MONTHS
from simtrain.values.types import JsonValue, is_list, is_object

Form: TypeAlias = Literal["numbers", "dates", "casing"]

_FORMS: tuple[Form, ...] = ("numbers", "dates", "casing")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?")


class SurfaceStress(RewrittenValues):
    """Every value is right but formatted differently: 1,234.50, 3 March 2031, NAMES IN CAPITALS.

    Source: RobustBench-TC, AgentNoiseBench. An agent should normalise them before it compares, adds or passes them on.
    Only texts of several words change, so identifiers are unchanged.
    """

    forms: list[Form] | None = Field(
        default=None, min_length=1, description="What is written otherwise; unset, drawn: one, two or all by severity."
    )

    def changed_content(self, call: Call, content: JsonValue) -> JsonValue:
        """Return numbers, dates or names in unusual forms."""
        forms = call.rng.sample(_FORMS, 1 + round(2 * self.severity)) if self.forms is None else self.forms
        return _otherwise(content, frozenset(forms))


def _otherwise(value: JsonValue, forms: frozenset[Form]) -> JsonValue:
    if is_object(value):
        # Where a list goes on is no value of the world.
        return {name: item if "cursor" in name else _otherwise(item, forms) for name, item in value.items()}
    if is_list(value):
        return [_otherwise(item, forms) for item in value]
    if is_number(value):
        return separated(value) if "numbers" in forms else value
    return _text(value, forms) if isinstance(value, str) else value


def separated(value: float) -> str:
    """Return a number with separators, and at least two places where it is not an integer."""
    if isinstance(value, int):
        return f"{value:,}"
    shortest = repr(value)
    places = len(shortest.partition(".")[2]) if "e" not in shortest else 0
    # Never fewer places than the number has: an unusual form must not lose precision.
    return f"{value:,.{max(2, places)}f}" if places else shortest


def _text(value: str, forms: frozenset[Form]) -> str:
    if _DATE.fullmatch(value):
        return _date(value) if "dates" in forms else value
    return value.upper() if "casing" in forms and " " in value.strip() else value


def _date(value: str) -> str:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return value
    day = f"{moment.day} {MONTHS[moment.month - 1]} {moment.year}"
    if len(value) == len("2031-03-03"):
        return day
    seconds = f":{moment.second:02}" if moment.second or moment.microsecond else ""
    zone = f" {moment.tzname()}" if moment.tzinfo else ""
    return f"{day}, {moment.hour:02}:{moment.minute:02}{seconds}{zone}"
