"""Ledgers: JSON-lines files of dealt tasks and their rewards, from which a stream of tasks can be replayed."""

from pathlib import Path
from typing import TypeVar

import orjson
from pydantic import BaseModel

from simtrain.files.yaml_files import parse_line

ModelT = TypeVar("ModelT", bound=BaseModel)


def read_line(model: type[ModelT], line: tuple[int, bytes], path: Path) -> ModelT:
    """Parse a line of a ledger, given its number and its text. Raises InputError."""
    number, text = line
    return parse_line(model, text, file=path, line=number, what="not a line of a ledger")


def as_line(entry: BaseModel) -> bytes:
    """Return an entry as a line of a ledger."""
    return orjson.dumps(entry.model_dump(mode="json"), option=orjson.OPT_APPEND_NEWLINE)
