"""Base of perturbations that let a caller time out."""

from pydantic import Field

from simtrain.contracts.perturbation import Call
from simtrain.perturbations.catalogued import Catalogued
from simtrain.perturbations.shell_replies import printed, typed
from simtrain.values.types import Observation


class LostReply(Catalogued):
    """The caller waits and gives up; the error does not tell whether the call was carried out."""

    seconds: float | None = Field(
        default=None,
        gt=0,
        description="Virtual seconds until the caller gives up; unset, 60 times the severity, at least 1.",
    )

    def given_up(self, call: Call) -> Observation:
        """Return the timeout error, after advancing virtual time."""
        waited = max(1.0, 60 * self.severity) if self.seconds is None else self.seconds
        call.clock.advance(waited)
        if typed(call) is not None:
            # As the tool itself says that a command line took too long.
            return printed(call, f"[stopped after {waited:g} s]", exit_code=124, by=self.source)
        return self.refusal(call, "timeout", f"No reply within {waited:g} seconds.")
