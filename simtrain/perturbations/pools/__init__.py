"""The shipped pools of surface texts: one YAML file for each perturbation whose words are not computed."""

from functools import cache
from pathlib import Path
from types import MappingProxyType

from simtrain.files.yaml_files import read_document
from simtrain.values.types import JsonValue


@cache
def pool(name: str) -> MappingProxyType[str, JsonValue]:
    """Return the texts of a pool by their keys. Placeholders in braces are filled in with `str.format`."""
    return MappingProxyType(read_document(Path(__file__).with_name(f"{name}.yaml")).data)


def texts(name: str, key: str) -> list[str]:
    """Return the texts under a key of a pool."""
    return pool(name)[key]
