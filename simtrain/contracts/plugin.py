"""What every plug-in is: a frozen set of knobs with a docstring and an example."""

from __future__ import annotations

from inspect import getdoc
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeAlias, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationInfo

from simtrain.values.types import JsonObject


def _beside(path: Path, info: ValidationInfo) -> Path:
    folder = cast("dict[str, Any]", info.context or {}).get("folder")
    return path if folder is None else folder / path


BesidePath: TypeAlias = Annotated[Path, AfterValidator(_beside)]
"""A file or folder that a YAML file names: a relative path lies beside that file, and in Python in the working folder."""


class Plugin(BaseModel):
    """The base of every plug-in: its fields are the knobs that `with:` sets, its docstring is what lists and tables show of it.

    A plug-in holds knobs only. What happened is in the trajectory; what must stay open lives in a session.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, arbitrary_types_allowed=True)

    example: ClassVar[JsonObject] = {}
    """What stands beside `use:` in an example (`with`, `when`). Needed where the defaults alone do not show the plug-in at work."""


def about(plugin: object) -> str:
    """Return what a plug-in is, in one line: the first paragraph of its docstring."""
    return " ".join((getdoc(plugin) or "").partition("\n\n")[0].split())
