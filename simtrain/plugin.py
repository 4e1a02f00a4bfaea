"""What every plug-in is: a frozen set of knobs with a docstring."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Plugin(BaseModel):
    """The base of every plug-in: its fields are the knobs that `with:` sets, its docstring is what `simtrain list` shows.

    A plug-in holds knobs only. What happened is in the trajectory; what must stay open lives in a session.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, arbitrary_types_allowed=True)
