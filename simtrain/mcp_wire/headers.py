"""HTTP headers that repeat parts of a frame, as revision 2026-07-28 requires.

Source: the specification's streamable HTTP transport, "Standard Headers" and "Custom Headers".
"""

import base64
import re
from collections.abc import Iterator
from typing import TypeAlias

from simtrain.values.types import JsonObject, JsonValue, as_object

NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Method -> the member of its params that goes into `Mcp-Name`."""

_PLAIN = re.compile(r"[\x21-\x7E](?:[\x20-\x7E]*[\x21-\x7E])?")
_ENCODED = re.compile(r"=\?base64\?.*\?=")
_DEEPEST = 32

ParameterHeaders: TypeAlias = dict[tuple[str, ...], str]
"""Path of a property in the arguments -> the token that its `x-mcp-header` gives."""


def request_headers(frame: JsonObject, version: str) -> dict[str, str]:
    """Return the headers for a request of the modern era."""
    headers = {"MCP-Protocol-Version": version, "Mcp-Method": encode_header(str(frame["method"]))}
    member = NAMED.get(frame["method"])
    name = as_object(frame.get("params")).get(member) if member else None
    if isinstance(name, str):
        headers["Mcp-Name"] = encode_header(name)
    return headers


def parameter_headers(schema: JsonValue) -> ParameterHeaders:
    """Return the parameters of a tool that are sent in headers too, from its input schema."""
    return dict(_annotated(schema, ()))


def mirrored(declared: ParameterHeaders, arguments: JsonValue) -> dict[str, str]:
    """Return the `Mcp-Param-*` headers of one call; omitted parameters have none."""
    headers: dict[str, str] = {}
    for path, token in declared.items():
        value = arguments
        for key in path:
            value = as_object(value).get(key)
        # Before the numbers, since bool is an int in Python and str() would write `True`.
        if isinstance(value, bool):
            headers[f"Mcp-Param-{token}"] = "true" if value else "false"
        elif isinstance(value, str | int | float):
            headers[f"Mcp-Param-{token}"] = encode_header(str(value))
    return headers


def encode_header(value: str) -> str:
    """Return a value that is safe in an HTTP header: plain ASCII unchanged, anything else as `=?base64?...?=`."""
    # A text that looks encoded is encoded as well, or the server would decode it.
    if _PLAIN.fullmatch(value) and not _ENCODED.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode(errors='replace')).decode()}?="


def _annotated(schema: JsonValue, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    fields = as_object(schema)
    # Schemas come from servers, and this function is recursive.
    if not fields or len(path) > _DEEPEST:
        return
    # Only a token can be part of a header name (RFC 9110, section 5.1).
    token = fields.get("x-mcp-header")
    if path and isinstance(token, str) and re.fullmatch(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+", token):
        yield path, token
    for name, inner in as_object(fields.get("properties")).items():
        yield from _annotated(inner, (*path, name))
