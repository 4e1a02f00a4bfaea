"""Questions to the client during the replay of a recorded reply, asked in the form of the client's era."""

from collections import OrderedDict
from secrets import token_urlsafe
from typing import cast

from simtrain.mcp_wire.answers import CLIENT_METHODS
from simtrain.mcp_wire.handler import INVALID_PARAMS, MISSING_CAPABILITY, WireError, WireRequest, result_of
from simtrain.values.types import JsonObject, JsonValue, as_object, is_object

MOST = 1024
"""Most conversations that wait for a client's answer; the oldest is dropped first."""


class Conversations:
    """Calls of 2026-07-28 that take several rounds. The call was carried out once; its reply waits here."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, tuple[JsonObject, int]] = OrderedDict()

    def questions(self, wire: JsonObject) -> list[JsonObject]:
        """Return the recorded server's questions to its client, as requests of the handshake era."""
        asks = wire.get("asks") or ()
        if asks:
            return list(asks)
        return [
            question
            for round_ in (wire.get("rounds") or ())
            for question in cast(JsonObject, cast(JsonObject, round_["result"]).get("inputRequests") or {}).values()
        ]

    def begin(self, request: WireRequest, wire: JsonObject) -> JsonObject | None:
        """Return the first input_required result of a reply with questions; None for a reply without."""
        return self._go_on(request, wire, 0) if _rounds(wire) else None

    def knows(self, request: WireRequest) -> bool:
        """Return True if a request continues a conversation. Raises WireError for an unknown state."""
        state = request.params.get("requestState")
        if not request.modern or state is None:
            return False
        if state not in self._waiting:
            raise WireError(INVALID_PARAMS, "Invalid or expired requestState")
        return True

    def go_on(self, request: WireRequest) -> JsonObject:
        """Return the next round, or the reply itself once every question is answered. Raises WireError for a recorded error."""
        return self._go_on(request, *self._waiting.pop(request.params["requestState"]))

    def _go_on(self, request: WireRequest, wire: JsonObject, number: int) -> JsonObject:
        if not _answered(request.params.get("inputResponses"), _rounds(wire)[number]):
            return self._require(request, wire, number)
        if number + 1 < len(_rounds(wire)):
            return self._require(request, wire, number + 1)
        return result_of(wire)

    def _require(self, request: WireRequest, wire: JsonObject, number: int) -> JsonObject:
        recorded = _rounds(wire)[number]
        for question in recorded["inputRequests"].values():
            capability = CLIENT_METHODS.get(question.get("method", ""))
            # The specification forbids asking a client for what it has not declared.
            if capability is not None and capability not in request.capabilities:
                raise WireError(
                    MISSING_CAPABILITY,
                    f"The client must support {capability}",
                    {"requiredCapabilities": {capability: {}}},
                )
        # Random, so that no client can continue the conversation of another one.
        state = token_urlsafe(18)
        self._waiting[state] = (wire, number)
        if len(self._waiting) > MOST:
            # A client that never answers must not fill the memory.
            self._waiting.popitem(last=False)
        return {**recorded, "resultType": "input_required", "requestState": state}


def _answered(given: JsonValue, recorded: JsonObject) -> bool:
    """Return True if the responses answer every question of a round; further ones are ignored."""
    return all(is_object(as_object(given).get(key)) for key in recorded["inputRequests"])


def _rounds(wire: JsonObject) -> list[JsonObject]:
    """Return the input_required results of a recorded reply; questions of the handshake era become one round."""
    rounds = [item["result"] for item in (wire.get("rounds") or ())]
    if rounds:
        return [item for item in rounds if item.get("inputRequests")]
    asks = wire.get("asks") or ()
    if not asks:
        return []
    questions: JsonObject = {
        f"q{number}": {"method": ask["method"], "params": ask.get("params") or {}} for number, ask in enumerate(asks)
    }
    return [{"inputRequests": questions}]
