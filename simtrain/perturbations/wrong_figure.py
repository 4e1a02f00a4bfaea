"""What the perturbations share that tell a plausible wrong figure."""

from __future__ import annotations

from pydantic import Field

from simtrain.contracts.perturbation import Perturbation
from simtrain.values.seeding import Stream


class WrongFigure(Perturbation):
    """Figures are off by a share that nobody notices at a glance."""

    off: float | None = Field(
        default=None,
        ge=0.1,
        le=0.25,
        description="Share by which it is off; unset, 0.1 and up to 0.15 more by severity.",
    )
    fields: list[str] = Field(
        default=["*"], min_length=1, description="Globs over the names of fields that may be hit."
    )

    def share(self, rng: Stream) -> float:
        """Return the share, above or below the truth."""
        return (0.1 + 0.15 * self.severity if self.off is None else self.off) * rng.choose((1, -1))
