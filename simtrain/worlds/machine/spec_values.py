"""Values that the YAML of a machine world is written in: sizes, permission bits, the shell."""

import re
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field

from simtrain.values.errors import InputError

SIMULATED = "simulated"
_UNITS = {"": 1, "K": 1000, "M": 1000**2, "G": 1000**3, "T": 1000**4}
_SHELL = r"^(simulated|bubblewrap|docker(:\S+)?)$"
_MODE = r"^[0-7]{3,4}$|^\{\{"


def byte_count(text: str | int) -> int:
    """Return a size in bytes: a number, or such as `38G`, in powers of 1000. Raises InputError."""
    if isinstance(text, int):
        return text
    number, unit = (text[:-1], text[-1:].upper()) if text[-1:].upper() in _UNITS and text else (text, "")
    try:
        return int(float(number) * _UNITS[unit])
    except ValueError:
        raise InputError(f"{text!r} is no size", remedy="write it like 38G, 500M, 20K or 4096") from None


def _size(value: str | int) -> str | int:
    try:
        byte_count(value)
    except InputError as error:
        raise ValueError(str(error)) from None
    return value


Size: TypeAlias = Annotated[str | int, AfterValidator(_size)]
"""A number of bytes, or such as `38G`."""


def _mode(value: str) -> str:
    if re.match(_MODE, value) is None:
        raise ValueError('three or four octal digits are needed; write it like "0640"')
    return value


def _shell(value: str) -> str:
    if re.match(_SHELL, value) is None:
        raise ValueError("unknown shell; known: simulated, bubblewrap, docker, docker:IMAGE")
    return value


Mode: TypeAlias = Annotated[
    str,
    BeforeValidator(lambda value: str(value) if isinstance(value, int) else value, json_schema_input_type=str | int),
    AfterValidator(_mode),
    Field(json_schema_extra={"pattern": _MODE}),
]
Shell: TypeAlias = Annotated[str, AfterValidator(_shell), Field(json_schema_extra={"pattern": _SHELL})]
