"""The base of all models that are read from files, and the types of their instants and durations."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, TypeAlias, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict

from simtrain.values.clock import instant, seconds
from simtrain.values.errors import InputError

T = TypeVar("T")


class FileModel(BaseModel):
    """A part of a file: immutable, without unknown keys, infinities or NaN."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, populate_by_name=True)


def short_for(key: str, kind: type, written: object) -> BeforeValidator:
    """Return a validator that reads a value of a kind as the mapping with it under `key`; `written` is both, for JSON Schemas."""
    return BeforeValidator(
        lambda value: {key: value} if isinstance(value, kind) else value, json_schema_input_type=written
    )


def checked(value: T, *, parse: Callable[[T], object]) -> T:
    """Return a value that `parse` accepts. Raises ValueError, which pydantic expects, if that raises an InputError."""
    try:
        parse(value)
    except InputError as error:
        raise ValueError(str(error)) from None
    return value


Instant: TypeAlias = Annotated[str, AfterValidator(partial(checked, parse=instant))]
Duration: TypeAlias = Annotated[str | float, AfterValidator(partial(checked, parse=seconds))]
