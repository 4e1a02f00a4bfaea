"""Types that all parts of a search world file use: plain names, shares, spans of days."""

import re
from functools import cache, partial
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field

from simtrain.files.file_model import checked
from simtrain.values.errors import InputError

Name: TypeAlias = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]


_SPAN = re.compile(r"(\d+(?:\.\d+)?)(d|w|m|y)")
# Months and years are Julian, so that 12m equals 1y.
_SPAN_DAYS = {"d": 1.0, "w": 7.0, "m": 30.4375, "y": 365.25}
MAX_SPAN = 365_250


@cache
def days(text: str) -> int:
    """Return the days of a span such as 90d, 6w, 18m or 5y. Raises InputError."""
    found = _SPAN.fullmatch(text)
    if found is None:
        raise InputError(f"{text!r} is not a span of days", remedy="write it like 90d, 6w, 18m or 5y")
    span = round(float(found[1]) * _SPAN_DAYS[found[2]])
    if span > MAX_SPAN:
        raise InputError(f"{text!r} is longer than 1,000 years")
    return span


Span: TypeAlias = Annotated[str, AfterValidator(partial(checked, parse=days))]
