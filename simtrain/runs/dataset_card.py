"""The README.md of a run folder: a dataset card, so that `datasets.load_dataset(folder)` knows every column and its type.

The format is the YAML head of the dataset cards of the Hugging Face Hub; free-form objects get its type `json`. Without a card
`datasets` guesses types from the first lines, and a field that is null in all of them cannot be loaded later on.
"""

from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Literal, Union, get_args, get_origin, get_type_hints

import yaml

from simtrain.contracts.trajectory import Trajectory
from simtrain.values.types import JsonObject

TYPES: dict[object, str] = {str: "string", int: "int64", float: "float64", bool: "bool"}

TEXT = """\
A run of simtrain. `trajectories-*.jsonl` holds one trajectory a line, `run.json` what was run, `summary.json` the figures, and
`failures.jsonl` what the simulator or a model server failed at.
"""


@cache
def dataset_card() -> str:
    """Return the text of the card."""
    head: JsonObject = {
        "configs": [{"config_name": "default", "data_files": "trajectories-*.jsonl"}],
        "dataset_info": {"features": _columns(Trajectory)},
    }
    return f"---\n{yaml.safe_dump(head, sort_keys=False)}---\n\n{TEXT}"


def _columns(record: type) -> list[JsonObject]:
    hints = get_type_hints(record)
    return [{"name": field.name, **_type(hints[field.name])} for field in fields(record)]


def _type(hint: object) -> JsonObject:
    """Return the type of one column, as a dataset card writes it."""
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        # Every column may be null, so the card does not say it.
        return _type(next(part for part in get_args(hint) if part is not NoneType))
    if origin is Literal:
        return {"dtype": "string"}
    if origin in (list, tuple):
        # A card writes a struct and a plain type without their keys there.
        return {"list": next(iter(_type(get_args(hint)[0]).values()))}
    if isinstance(hint, type) and is_dataclass(hint):
        return {"struct": _columns(hint)}
    return {"dtype": next((name for plain, name in TYPES.items() if plain is hint), "json")}
