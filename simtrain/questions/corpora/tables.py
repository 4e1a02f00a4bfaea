"""Rows into files: JSON Lines, or Parquet with the extra of that name."""

from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import orjson

from simtrain.values.extras import require
from simtrain.values.types import JsonObject

Form: TypeAlias = Literal["jsonl", "parquet"]

BATCH: Final = 5_000


def check_form(form: Form) -> None:
    """Refuse, with an InputError that names the extra, a form that cannot be written here."""
    if form == "parquet":
        require("parquet", "pyarrow", by="Parquet")


def write_rows(rows: Iterable[JsonObject], path: Path, form: Form) -> int:
    """Write rows to `path` with the form as its ending; returns how many. All rows have the keys of the first. Raises InputError."""
    target = path.with_name(f"{path.name}.{form}")
    return _write_jsonl(rows, target) if form == "jsonl" else _write_parquet(rows, target)


def _write_jsonl(rows: Iterable[JsonObject], path: Path) -> int:
    count = 0
    with path.open("wb") as file:
        for row in rows:
            file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
            count += 1
    return count


def _write_parquet(rows: Iterable[JsonObject], path: Path) -> int:
    arrow: Any = import_module("pyarrow")
    parquet: Any = import_module("pyarrow.parquet")
    count, writer = 0, None
    try:
        for batch in _batches(rows):
            # A Parquet file has one schema; without it, each batch would infer its own.
            table = arrow.Table.from_pylist(batch, schema=None if writer is None else writer.schema)
            writer = writer or parquet.ParquetWriter(path, table.schema, compression="zstd")
            writer.write_table(table)
            count += len(batch)
        if writer is None:
            parquet.write_table(arrow.table({}), path)
    finally:
        if writer is not None:
            writer.close()
    return count


def _batches(rows: Iterable[JsonObject]) -> Iterator[list[JsonObject]]:
    source = iter(rows)
    while batch := list(islice(source, BATCH)):
        yield batch
