"""Calls with bad arguments, made to a real server and to its captured stand-in, and a count of how alike the refusals are.

Nothing here asks simtrain what is wrong with a call: a call is built with one known mistake, and a refusal may name that one alone.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp import Client, MCPError, StdioServerParameters

SAMPLES: dict[str, Any] = {
    "string": "some text", "integer": 3, "number": 2.5, "boolean": True, "array": [], "object": {}, "null": None,
}  # fmt: skip
WRONG: dict[str, Any] = {
    "string": 7, "integer": "no number", "number": "no number", "boolean": "no answer", "array": "no list", "object": "no object",
}  # fmt: skip
SURPLUS = "no_such_parameter"


@dataclass(frozen=True)
class BadCall:
    """A call with one mistake; `named` are the parameters that a refusal of it may name."""

    tool: str
    arguments: dict[str, Any]
    named: frozenset[str]


@dataclass
class Tally:
    """What came of the calls to one server: those that the real one refused, and what its stand-in said."""

    refused: int = 0
    same: int = 0
    misled: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)


def sample(schema: dict[str, Any]) -> Any:
    """A value that a plain schema allows."""
    for key in ("anyOf", "oneOf", "allOf"):
        if schema.get(key):
            return sample(schema[key][0])
    if schema.get("enum"):
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        known = schema.get("properties", {})
        return {name: sample(known.get(name, {})) for name in schema.get("required", [])}
    if kind == "array" and schema.get("minItems"):
        return [sample(schema.get("items", {}))] * schema["minItems"]
    if kind in ("integer", "number"):
        return schema.get("minimum", schema.get("maximum", SAMPLES[kind]))
    if kind == "string" and schema.get("minLength", 0) > len(SAMPLES["string"]):
        return "x" * schema["minLength"]
    return SAMPLES.get(kind, "some text")


def bad_calls(tools: Sequence[dict[str, Any]]) -> Iterator[BadCall]:
    """Every required argument left out and given in the wrong type, nothing at all, and a value outside of its list."""
    for tool in tools:
        schema = tool["inputSchema"]
        known, required = schema.get("properties", {}), schema.get("required", [])
        whole = sample({"type": "object", **schema})
        if required:
            yield BadCall(tool["name"], {}, frozenset(required))
            yield BadCall(tool["name"], {SURPLUS: 1}, frozenset({*required, SURPLUS}))
        for name in required if len(required) > 1 else ():
            yield BadCall(tool["name"], {key: value for key, value in whole.items() if key != name}, frozenset({name}))
        for name, described in known.items():
            kind = described.get("type")
            if isinstance(kind, str) and kind in WRONG:
                yield BadCall(tool["name"], whole | {name: WRONG[kind]}, frozenset({name}))
            if described.get("enum"):
                yield BadCall(tool["name"], whole | {name: "none of these"}, frozenset({name}))


@asynccontextmanager
async def connected(command: Sequence[str], folder: Path) -> AsyncGenerator[Client]:
    """A server on standard input and output, by the SDK's client, in the era that real servers speak."""
    there = StdioServerParameters(command=command[0], args=list(command[1:]), cwd=folder)
    async with Client(there, mode="legacy", read_timeout_seconds=60) as client:
        yield client


async def said(client: Client, call: BadCall) -> tuple[str, bool]:
    """What a server says to a call, and whether that is a refusal."""
    try:
        result = await client.call_tool(call.tool, call.arguments)
    except MCPError as error:
        return f"error {error.error.code}: {error.error.message}", True
    text = "\n".join(getattr(block, "text", "") for block in result.content)
    return text, bool(result.is_error) or re.match(r"\W*(error|invalid|missing)\b", text, re.IGNORECASE) is not None


async def compare(real: Sequence[str], copy: Sequence[str], folder: Path) -> Tally:
    """The refusals of a real server and of its stand-in, counted; both run in `folder`.

    What the real one says to the same call without the mistake as well is not about the mistake, and does not count.
    """
    tally = Tally()
    async with connected(real, folder) as original, connected(copy, folder) as stand_in:
        tools = [tool.model_dump(by_alias=True, exclude_none=True) for tool in (await original.list_tools()).tools]
        every = {name for tool in tools for name in tool["inputSchema"].get("properties", {})} | {SURPLUS}
        whole = {tool["name"]: sample({"type": "object", **tool["inputSchema"]}) for tool in tools}
        for call in bad_calls(tools):
            expected, refused = await said(original, call)
            plain = BadCall(call.tool, whole[call.tool], frozenset())
            if not refused or (await said(original, plain))[0] == expected:
                continue
            tally.refused += 1
            found, _ = await said(stand_in, call)
            shown = f"{call.tool} {json.dumps(call.arguments)}\n  real: {expected!r}\n  copy: {found!r}"
            if found == expected:
                tally.same += 1
                continue
            tally.different.append(shown)
            if misnamed(found, expected, call, every):
                tally.misled.append(shown)
    return tally


def misnamed(found: str, expected: str, call: BadCall, every: set[str]) -> set[str]:
    """Parameters that a refusal names although they are not what is wrong, and oftener than the real one names them."""
    more = words_of(found) - words_of(expected) - Counter(words_of(call.tool))
    return {name for name in every - call.named if more[name]}


def words_of(text: str) -> Counter[str]:
    """The words of a text that may be names of parameters."""
    return Counter(re.findall(r"[A-Za-z_][A-Za-z0-9_-]*", text))


def served(manifest: Path, python: str) -> list[str]:
    """The command that stands in for a captured server."""
    return [python, "-m", "simtrain", "serve", str(manifest), "--stdio"]
