"""What every plug-in is: a frozen set of knobs with a docstring."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypeAlias, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationInfo


def _beside(path: Path, info: ValidationInfo) -> Path:
    folder = cast("dict[str, Any]", info.context or {}).get("folder")
    return path if folder is None else folder / path


BesidePath: TypeAlias = Annotated[Path, AfterValidator(_beside)]
"""A file or folder that a YAML file names: a relative path lies beside that file, and in Python in the working folder."""


class Plugin(BaseModel):
    """The base of every plug-in: its fields are the knobs that `with:` sets, its docstring is what `simtrain list` shows.

    A plug-in holds knobs only. What happened is in the trajectory; what must stay open lives in a session.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, arbitrary_types_allowed=True)
