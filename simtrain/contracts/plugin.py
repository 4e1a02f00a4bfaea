"""The base of every plug-in: a frozen set of knobs with a docstring and an example."""

from inspect import getdoc
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeAlias, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationInfo

from simtrain.values.types import JsonObject


def _beside(path: Path, info: ValidationInfo) -> Path:
    folder = cast("dict[str, Any]", info.context or {}).get("folder")
    return path if folder is None else folder / path


BesidePath: TypeAlias = Annotated[Path, AfterValidator(_beside)]
"""A file or folder named in a YAML file: a relative path starts from that file's folder; in Python, from the working folder."""


class Plugin(BaseModel):
    """The base of every plug-in: its fields are the knobs that `with:` sets, its docstring is its description in lists and tables.

    A plug-in holds only knobs. Events are in the trajectory; open resources live in a session.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, arbitrary_types_allowed=True)

    example: ClassVar[JsonObject] = {}
    """Keys next to `use:` in an example (`with`, `when`). Needed if the defaults alone do not show the plug-in at work."""


def about(plugin: object) -> str:
    """Return a one-line description of a plug-in: the first paragraph of its docstring."""
    return " ".join((getdoc(plugin) or "").partition("\n\n")[0].split())
