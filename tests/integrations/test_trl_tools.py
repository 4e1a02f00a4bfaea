"""Tools as methods: what transformers reads of them is what the tools say of themselves."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simtrain.integrations.trl.tool_methods import OfferedTool, argument_names, method_names, tool_method
from simtrain.llm.tool_names import definition
from simtrain.scenarios.load import load_world
from simtrain.values.types import ToolSpec

os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")

from transformers.utils.chat_template_utils import get_json_schema, render_jinja_template

WORLDS = Path(__file__).parents[2] / "worlds"


def tool(name: str = "orders.find", description: str = "Find an order.", **properties: Any) -> ToolSpec:
    required = [key for key, schema in properties.items() if not schema.pop("optional", False)]
    return ToolSpec(name, description, {"type": "object", "properties": properties, "required": required})


class Noting:
    """An environment that only notes its calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def carry(self, name: str, arguments: dict[str, Any]) -> str:
        self.calls.append((name, arguments))
        return "done"


def bound(spec: ToolSpec, name: str = "find") -> Any:
    """The tool as the method of an instance, as TRL meets it."""
    cls = type("Made", (Noting,), {name: tool_method(spec, name, Noting.carry)})
    return getattr(cls(), name)


def listed(spec: ToolSpec) -> dict[str, Any]:
    return get_json_schema(bound(spec))["function"]


def shipped() -> Iterator[ToolSpec]:
    """Every tool of every shipped service."""
    for file in sorted(WORLDS.glob("*.yaml")):
        source = load_world(file)
        if source.kind == "service":
            yield from source.build().tools


def restored(read: dict[str, Any], placeholder: str) -> dict[str, Any]:
    """An argument's schema, with what stands behind its description put back to where it came from."""
    text = read.pop("description")
    about, mark, unsaid = text.partition("JSON Schema: ")
    whole = read | (json.loads(unsaid) if mark else {})
    about = about.strip()
    return whole if (about == placeholder and not mark) or not about else whole | {"description": about}


def as_transformers_says_null(schema: dict[str, Any]) -> dict[str, Any]:
    """`{"anyOf": [{"type": "string"}, {"type": "null"}]}` as `{"type": "string", "nullable": True}`."""
    if schema.get("anyOf", [])[1:] != [{"type": "null"}]:
        return schema
    return {key: value for key, value in schema.items() if key != "anyOf"} | schema["anyOf"][0] | {"nullable": True}


def without_types_of_enums(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key != "type" or "enum" not in schema}


@pytest.mark.slow
def test_of_every_shipped_tool_all_is_said_that_its_schema_says() -> None:
    count = 0
    for spec in shipped():
        read, wanted = listed(spec), spec.input_schema
        assert read["description"] == " ".join(spec.description.split())
        assert set(read["parameters"].get("required", [])) == set(wanted.get("required", []))
        assert list(read["parameters"]["properties"]) == list(wanted.get("properties", {}))
        for key, schema in wanted.get("properties", {}).items():
            found = restored(dict(read["parameters"]["properties"][key]), key)
            expected = {
                **schema,
                **({"description": " ".join(schema["description"].split())} if "description" in schema else {}),
            }
            assert without_types_of_enums(found) == without_types_of_enums(as_transformers_says_null(expected)), (
                spec.name
            )
        count += 1
    assert count > 100


def test_what_a_call_gives_reaches_the_tool_under_its_own_names() -> None:
    spec = tool(
        **{"from": {"type": "string"}, "self": {"type": "integer"}, "a-b": {"type": "string", "optional": True}}
    )
    method = bound(spec)
    assert method(from_="x", self_=3) == "done"
    assert method.__self__.calls == [("orders.find", {"from": "x", "self": 3})]
    signature = inspect.signature(method)
    assert list(signature.parameters) == ["from_", "self_", "a_b"]
    assert [parameter.default for parameter in signature.parameters.values()] == [inspect.Parameter.empty] * 2 + [None]


def test_arguments_that_the_tool_does_not_know_reach_it_too_so_that_the_world_words_the_error() -> None:
    method = bound(tool(id={"type": "string"}))
    method(nonsense=1)
    assert method.__self__.calls == [("orders.find", {"nonsense": 1})]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        {"type": "array", "items": {"type": "integer"}},
        {"type": "array"},
        {"type": "object"},
        {"type": "object", "additionalProperties": {"type": "number"}},
        {"enum": ["a", "b"], "type": "string"},
        {"type": "boolean"},
    ],
)
def test_a_hint_says_the_whole_schema_where_python_can(schema: dict[str, Any]) -> None:
    read = listed(tool(x={**schema, "description": "What it is."}))
    assert read["parameters"]["properties"]["x"] == {**schema, "description": "What it is."}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "minimum": 1, "maximum": 9},
        {"type": "object", "properties": {"street": {"type": "string"}}, "required": ["street"]},
        {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "string"}}}},
        {"anyOf": [{"type": "string", "pattern": "^a"}, {"type": "null"}]},
        {"enum": [["a"], {"b": 1}]},
        {"$ref": "#/$defs/Address"},
        {"type": "string", "default": "now"},
        {},
    ],
)
def test_what_no_hint_can_say_stands_behind_the_description(schema: dict[str, Any]) -> None:
    read = listed(tool(x={**schema, "description": "What it is."}))["parameters"]["properties"]["x"]
    about, _, unsaid = read["description"].partition(" JSON Schema: ")
    assert about == "What it is."
    said = read | (json.loads(unsaid) if unsaid else {})
    assert {key: said[key] for key in schema} == schema


def test_a_null_in_a_union_makes_an_argument_nullable() -> None:
    read = listed(tool(x={"type": ["string", "null"], "description": "Or nothing."}))
    assert read["parameters"]["properties"]["x"] == {"type": "string", "nullable": True, "description": "Or nothing."}


@pytest.mark.parametrize(
    "text",
    [
        "Raises: the price",
        "args: none",
        "Ends so (choices: a, b)",
        "Returns:\n  a list",
        "two\n\nparagraphs: here",
        "  ",
    ],
)
def test_no_description_breaks_the_docstring(text: str) -> None:
    spec = tool(description=text, x={"type": "string", "description": text}, y={"type": "string", "description": text})
    read = listed(spec)
    assert list(read["parameters"]["properties"]) == ["x", "y"]
    words = "".join(text.split())
    for found in (read["description"], read["parameters"]["properties"]["x"]["description"]):
        assert "".join(found.split()) in (words, "orders.find", "x")


def test_names_that_trl_passes_over_get_another() -> None:
    names = method_names(["reset", "get_reward", "_private", "tool_reset", "orders.find", "a-b", "orders_find"])
    assert len(set(names.values())) == 7
    assert not any(name in ("reset", "get_reward") or name.startswith("_") for name in names.values())
    assert (names["a-b"], names["orders_find"], names["tool_reset"]) == ("a-b", "orders_find", "tool_reset")


def test_names_of_arguments_are_identifiers_and_each_is_unique() -> None:
    keys = ["class", "class_", "a b", "a_b", "self", "return", "", "9", "ok", "größe", "_"]
    names = argument_names(keys)
    assert len(set(names.values())) == len(keys)
    assert all(name.isidentifier() and name.isascii() for name in names.values())
    assert (names["ok"], names["class_"], names["a_b"], names["_"]) == ("ok", "class_", "a_b", "_")
    read = listed(tool(**{key: {"type": "string"} for key in keys}))
    assert list(read["parameters"]["properties"]) == [names[key] for key in keys]


def test_an_offered_tool_is_listed_as_its_own_definition_and_called_by_its_own_names() -> None:
    spec = tool(**{"from": {"type": "string", "minLength": 1}, "odd name": {"type": "integer"}})
    calls: list[dict[str, Any]] = []
    offered = OfferedTool(spec, "orders_find", lambda arguments: calls.append(arguments) or "done")
    given = render_jinja_template(
        [[{"role": "user", "content": "-"}]], tools=[offered], chat_template="{{ tools | tojson }}"
    )
    assert json.loads(given[0][0]) == [definition(spec, "orders_find")]
    assert offered(**{"from": "a", "odd name": 1}) == "done" and calls == [{"from": "a", "odd name": 1}]
    assert offered.__name__ == "orders_find"
