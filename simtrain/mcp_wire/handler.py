"""The interface of a request handler: raw requests in, raw results out, in both protocol eras."""

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from simtrain.values.errors import SimtrainError
from simtrain.values.types import JsonObject, JsonValue

Changed: TypeAlias = Literal["tools", "prompts", "resources"]

INVALID_PARAMS = -32602
METHOD_NOT_FOUND = -32601
INTERNAL_ERROR = -32603
MISSING_CAPABILITY = -32021


class WireError(SimtrainError):
    """A JSON-RPC error reply: code, message and, unless it is None, data."""

    def __init__(self, code: int, message: str, data: JsonValue = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


def result_of(response: JsonObject) -> JsonObject:
    """Return the result in a raw response. Raises WireError for an error."""
    if "error" in response:
        error = response["error"]
        raise WireError(error["code"], error["message"], error.get("data"))
    return response["result"]


@dataclass(frozen=True, slots=True)
class WireRequest:
    """One request. `modern` says that it speaks 2026-07-28; `capabilities` are what the client declared, and `client` is the name that it
    sent; `session` is the handshake era's session id, if there is one. `flawed`: its revision does not allow its params, or needs
    some and has none; `bare`: it has none."""

    method: str
    params: JsonObject
    version: str
    modern: bool
    capabilities: JsonObject
    session: str | None = None
    flawed: bool = False
    bare: bool = False
    client: str = ""


class ClientLine:
    """What a handler may send to the client while it answers a request. The default discards messages and refuses questions."""

    async def notify(self, notification: JsonObject) -> None:
        """Send a notification (`method`, `params`) that belongs to the request; progress only if the client asked for it."""

    async def changed(self, what: Changed) -> None:
        """Tell the client that a list has changed."""

    async def updated(self, uri: str) -> None:
        """Tell the client that a resource has changed."""

    async def hang_up(self) -> None:
        """Close the stream of the request; the client reconnects for the reply. Does nothing if it could not."""

    async def ask(self, method: str, params: JsonObject) -> JsonObject:
        """Ask the client (sampling, elicitation, roots) in the handshake era, and return its result. Raises WireError."""
        raise WireError(METHOD_NOT_FOUND, "Method not found", method)


class RequestHandler(Protocol):
    """Answers the MCP requests of one server."""

    @property
    def name(self) -> str:
        """The server's name in our messages; clients read the one in the greeting."""
        ...

    async def answer(self, request: WireRequest, line: ClientLine) -> JsonObject:
        """Return the result of a request, without the envelope of its era. Raises WireError."""
        ...

    def input_schema(self, tool: str) -> JsonObject | None:
        """Return the input schema of a tool, for the headers that repeat its arguments (2026-07-28)."""
        ...
