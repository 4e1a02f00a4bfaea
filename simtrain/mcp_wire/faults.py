"""Faults of a connection to an MCP server."""

from simtrain.values.errors import InputError, SimulatorFault
from simtrain.values.types import JsonObject, encode


class NotSpoken(InputError):
    """The server answers, but does not speak the requested era."""


class ConnectionLost(SimulatorFault):
    """The server died, closed the connection, or sent something that is not MCP. The message is one line with its last words."""


class TimedOut(SimulatorFault):
    """The server did not answer within the limit."""


class HttpRefused(SimulatorFault):
    """An HTTP status instead of an answer."""

    def __init__(self, status: int, problem: str) -> None:
        self.status = status
        super().__init__(problem)


class ErrorReply(SimulatorFault):
    """A JSON-RPC error in place of a required result; `error` is its `error` object, verbatim."""

    def __init__(self, method: str, error: JsonObject) -> None:
        self.error = error
        super().__init__(f"{method} was answered with the error {encode(error)[:400]}")
