"""What can go wrong between us and an MCP server."""

from __future__ import annotations

from simtrain.values.errors import InputError, SimulatorFault
from simtrain.values.types import JsonObject, encode


class NotSpoken(InputError):
    """The server is there and answers, but does not speak the era that was asked for."""


class ConnectionLost(SimulatorFault):
    """The server died, or closed the connection, or sent what is not MCP; `str` is one line with its last words."""


class TimedOut(SimulatorFault):
    """The server did not answer within the limit."""


class HttpRefused(SimulatorFault):
    """An HTTP status instead of an answer."""

    def __init__(self, status: int, problem: str) -> None:
        self.status = status
        super().__init__(problem)


class ErrorReply(SimulatorFault):
    """A JSON-RPC error where only a result would do; `error` is its `error` object, verbatim."""

    def __init__(self, method: str, error: JsonObject) -> None:
        self.error = error
        super().__init__(f"{method} was answered with the error {encode(error)[:400]}")
