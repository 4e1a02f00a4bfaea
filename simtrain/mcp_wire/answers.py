"""A client's answers to the requests of a server: roots, a sampled message, a filled-in form."""

from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias, cast

from pydantic import Field

from simtrain.files.file_model import FileModel
from simtrain.mcp_wire.handler import METHOD_NOT_FOUND
from simtrain.values.types import JsonObject, JsonValue, as_object, is_object

Answers: TypeAlias = Callable[[str, JsonObject], Awaitable[JsonObject]]
"""Method and params of a server's request -> `{"result": ...}` or `{"error": ...}`."""

CLIENT_METHODS = {"roots/list": "roots", "sampling/createMessage": "sampling", "elicitation/create": "elicitation"}
"""Requests that a server may send, and the capability that the client must have declared for each."""


class Canned(FileModel):
    """Answers the same requests always alike."""

    roots: tuple[str, ...] = Field(default=(), description="URIs of the roots, file:///...")
    text: str = Field(default="ok", description="The text of a sampled message.")
    model: str = Field(default="canned", description="The model that a sampled message names.")
    action: Literal["accept", "decline", "cancel"] = Field(default="accept", description="What becomes of a form.")
    form: JsonObject | None = Field(
        default=None, description="Values of a form by field; the others get their default, or something that fits."
    )

    async def __call__(self, method: str, params: JsonObject) -> JsonObject:
        """Return the answer to a request of the server."""
        if method == "roots/list":
            return {
                "result": {"roots": [{"uri": uri, "name": uri.rstrip("/").rpartition("/")[2]} for uri in self.roots]}
            }
        if method == "sampling/createMessage":
            content: JsonObject = {"type": "text", "text": self.text}
            return {"result": {"role": "assistant", "content": content, "model": self.model, "stopReason": "endTurn"}}
        if method == "elicitation/create":
            return {"result": self._fill(params)}
        return method_not_found(method)

    def _fill(self, params: JsonObject) -> JsonObject:
        schema: JsonValue = params.get("requestedSchema")
        if self.action != "accept" or not is_object(schema):
            return {"action": self.action}
        fields = schema.get("properties")
        if not is_object(fields):
            return {"action": self.action, "content": {}}
        given = self.form or {}
        filled: JsonObject = {name: given[name] if name in given else fitting(field) for name, field in fields.items()}
        return {"action": self.action, "content": filled}


def method_not_found(method: str) -> JsonObject:
    """Return the error for a method that a client does not support."""
    return {"error": {"code": METHOD_NOT_FOUND, "message": "Method not found", "data": method}}


def fitting(field: JsonValue) -> JsonValue:
    """Return a value for one field of an elicitation form: its default, its first choice, or the plainest value of its type.

    Source: the specification's elicitation schemas, flat objects of strings, numbers, booleans and choices.
    """
    if not is_object(field):
        return ""
    if "default" in field:
        return field["default"]
    # Before the type: only the listed values are valid, whatever their type.
    choices = _choices(field)
    if choices:
        return choices[0]
    kind = field.get("type")
    if kind == "boolean":
        return True
    if kind in ("integer", "number"):
        return field.get("minimum", 1)
    if kind == "array":
        return _choices(as_object(field.get("items")))[: max(1, field.get("minItems", 1))]
    return _text(field)


def _choices(schema: JsonObject) -> list[JsonValue]:
    if schema.get("enum"):
        return schema["enum"]
    titled = cast("list[JsonObject]", schema.get("oneOf") or schema.get("anyOf") or [])
    return [choice["const"] for choice in titled if "const" in choice]


def _text(schema: JsonObject) -> str:
    by_format = {
        "email": "ann@example.com",
        "uri": "https://example.com",
        "date": "2031-03-03",
        "date-time": "2031-03-03T09:00:00Z",
    }
    text = by_format.get(str(schema.get("format")), "text")
    return text.ljust(schema.get("minLength", 0), "x")[: schema.get("maxLength")]
