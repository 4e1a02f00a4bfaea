"""The base of all models that are read from files, and the types of moments and durations in them."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, TypeAlias, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict

from simtrain.values.clock import instant, seconds
from simtrain.values.errors import InputError

T = TypeVar("T")


class FileModel(BaseModel):
    """A part of a file: read and never changed, without unknown keys, infinities or NaN."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, populate_by_name=True)


def checked(value: T, *, parse: Callable[[T], object]) -> T:
    """Return a value that `parse` takes. Raises ValueError, as pydantic wants it, where that raises an InputError."""
    try:
        parse(value)
    except InputError as error:
        raise ValueError(str(error)) from None
    return value


Instant: TypeAlias = Annotated[str, AfterValidator(partial(checked, parse=instant))]
Duration: TypeAlias = Annotated[str | float, AfterValidator(partial(checked, parse=seconds))]
