"""A captured server's error messages, learnt from its answers to mistakes that were made on purpose."""

import re

from simtrain.files.json_schemas import validator
from simtrain.mcp_wire.manifest import NO_METHOD, NO_PROMPT, NO_RESOURCE, NO_TOOL, Exchange, ServerManifest
from simtrain.mcp_wire.request_flaws import flaw
from simtrain.values.json_walk import each_text
from simtrain.values.types import JsonObject, JsonValue, as_object, is_list, is_object
from simtrain.worlds.recorded.learned_words import alone, slotted
from simtrain.worlds.recorded.recorded_sessions import MODERN
from simtrain.worlds.recorded.refusal_wording import RefusedCall, Schemas, refusal_texts

PLACEHOLDERS = {
    "unknown_method": NO_METHOD,
    "missing_resource": NO_RESOURCE,
    "missing_prompt": NO_PROMPT,
    "subscribe": NO_RESOURCE,
    "unsubscribe": NO_RESOURCE,
    "completion_prompt": NO_PROMPT,
    "completion_resource": NO_RESOURCE,
}
"""Kind of mistake -> the placeholder in the captured text, which a client's own name replaces; in a flawed request it is a tool."""


PYTHON_FLAWED: JsonObject = {"code": -32602, "message": "Invalid request parameters", "data": ""}
"""The error of a server on the first Python SDK for a call without a name."""


class Mistakes:
    """A captured server's own responses to unknown names, with the client's names put in."""

    def __init__(self, server: ServerManifest) -> None:
        self._kept: dict[tuple[str, bool], JsonObject] = {}
        for exchange in server.exchanges:
            kind = _kind(exchange)
            if kind is not None:
                self._kept.setdefault((kind, exchange.era == MODERN), exchange.response)
        for kind, response in server.profile.items():
            for modern in (False, True):
                if is_object(response):
                    self._kept.setdefault((kind, modern), response)

    def response(self, kind: str, name: str, *, modern: bool) -> JsonObject | None:
        """Return `{"result": ...}` or `{"error": ...}` for a method, resource, prompt or tool of this name; None
        if it was not captured.
        """
        captured = self._kept.get((kind, modern))
        if captured is None:
            return None
        placeholder = PLACEHOLDERS.get(kind, NO_TOOL)
        names = {placeholder: name}
        if placeholder == NO_RESOURCE:
            # A server may speak of the scheme alone.
            names[NO_RESOURCE.partition(":")[0]] = name.partition(":")[0]
        pattern = re.compile(alone(names))
        return each_text(captured, lambda text: pattern.sub(lambda found: names[found[0]], text))


def error_texts(server: ServerManifest, schemas: Schemas) -> JsonObject:
    """Return the `server_errors` with which a service world answers unknown tools and bad arguments as the server did.

    `schemas` are the input schemas of its tools, by plain name. Empty for a server whose mistakes were not captured.
    """
    texts: JsonObject = {}
    unknown = unknown_tool(server.profile)
    if unknown is not None:
        texts["unknown_tool"], texts["unknown_tool_as"] = unknown
        empty = unknown_tool(server.profile, "unknown_tool_empty")
        if empty is not None and empty != unknown:
            texts["unknown_tool_empty"] = empty[0]
    flawed = as_object(as_object(server.profile.get("tools/call name missing")).get("error"))
    python = flawed == PYTHON_FLAWED
    return texts | refusal_texts(unknown, _refused(server, schemas), schemas, python=python)


def unknown_tool(profile: JsonObject, kind: str = "unknown_tool") -> tuple[str, str | int] | None:
    """Return the text for an unknown `{tool}`, and the channel; None if it was not captured."""
    reply = _reply_of(profile.get(kind))
    return None if reply is None else (slotted(reply[0], {NO_TOOL: "tool"}), reply[1])


def _refused(server: ServerManifest, schemas: Schemas) -> list[RefusedCall]:
    """Return the calls with bad arguments and the server's answers; `refusal_texts` drops those that it carried out.

    If there are calls of the older era, only those count: some servers answer the newer era with a demand for a handshake.
    """
    found: list[RefusedCall] = []
    older = any(exchange.era != MODERN for exchange in server.exchanges if exchange.method == "tools/call")
    for exchange in server.exchanges:
        if older and exchange.era == MODERN:
            continue
        tool: JsonValue = exchange.params.get("name")
        given: JsonValue = exchange.params.get("arguments") or {}
        reply = _reply_of(exchange.response)
        if exchange.method != "tools/call" or not isinstance(tool, str) or tool not in schemas or reply is None:
            continue
        arguments = as_object(given)
        if not validator(schemas[tool]).is_valid(arguments):
            found.append(RefusedCall(tool, arguments, *reply))
    return found


def _kind(exchange: Exchange) -> str | None:
    params, ref = exchange.params, as_object(exchange.params.get("ref"))
    match exchange.method:
        case method if method == NO_METHOD:
            return "unknown_method"
        case "completion/complete" if ref.get("name") == NO_PROMPT:
            return "completion_prompt"
        case "completion/complete" if ref.get("uri") == NO_RESOURCE:
            return "completion_resource"
        case "prompts/get" if params.get("name") == NO_PROMPT:
            return "missing_prompt"
        case "resources/read" if params.get("uri") == NO_RESOURCE:
            return "missing_resource"
        case method if method.startswith("resources/") and params.get("uri") == NO_RESOURCE:
            return method.partition("/")[2]
        case method:
            return flaw(method, params)


def _reply_of(response: JsonValue) -> tuple[str, str | int] | None:
    """Return the text of a captured response, and its channel: error reply, plain result, or the code of a JSON-RPC error."""
    found = as_object(response)
    error, result = as_object(found.get("error")), as_object(found.get("result"))
    if isinstance(error.get("message"), str) and isinstance(error.get("code"), int):
        return error["message"], error["code"]
    content: JsonValue = result.get("content")
    blocks = [as_object(block) for block in content] if is_list(content) else []
    texts = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
    return ("\n".join(texts), "error" if result.get("isError") is True else "result") if texts else None
