"""How the words of refusals are learnt, and how a comparison finds those that mislead."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from refusing import BadCall, misnamed

from simtrain.contracts.argument_mistakes import argument_mistakes
from simtrain.worlds.recorded.refusal_wording import RefusedCall, refusal_texts
from simtrain.worlds.service.error_texts import ErrorTexts

pytestmark = pytest.mark.slow

EVERY = {"path", "query", "limit"}


@pytest.mark.parametrize(
    ("found", "wrong"),
    [
        ("Missing parameter: path", {"path"}),
        ("Missing parameter: query", set[str]()),
        ("Missing parameter: query, limit", {"limit"}),
        ("search: query is required", set[str]()),
    ],
)
def test_a_refusal_that_names_another_parameter_is_found(found: str, wrong: set[str]) -> None:
    call = BadCall("search", {}, frozenset({"query"}))
    assert misnamed(found, "query is required", call, EVERY) == wrong


Arguments = dict[str, Any]


def schema(*required: str, **kinds: Any) -> dict[str, Any]:
    described = {name: kind if isinstance(kind, dict) else {"type": kind} for name, kind in kinds.items()}
    return {"type": "object", "properties": described, "required": list(required)}


SHOWN = {
    "read_page": schema("path", "mode", path="string", mode={"type": "string", "enum": ["raw", "text", "html"]}, width="integer"),
    "find_page": schema("query", "folder", query="string", folder="string", exact="boolean"),
    "list_pages": schema("path", path="string", tags="array"),
}  # fmt: skip
HIDDEN = {"move_page": schema("source", "target", source="string", target="string", force="boolean", retries="integer")}
"""A tool that the server was never asked about."""

WRONG = {"string": 7_070_707, "integer": "no number", "boolean": "no answer", "array": "no list"}
RIGHT = {"string": "any old text", "integer": 3, "boolean": True, "array": []}


def bad_calls(tool: str, described: dict[str, Any], *, wrong: dict[str, Any] = WRONG) -> list[tuple[str, Arguments]]:
    known, required = described["properties"], described["required"]
    whole = {name: (known[name].get("enum") or [RIGHT[known[name]["type"]]])[0] for name in required}
    calls: list[Arguments] = [{}, {"nonsense": 1}]
    calls += [{name: whole[name] for name in required if name != left_out} for left_out in required]
    calls += [whole | {name: wrong[one["type"]]} for name, one in known.items()]
    return [(tool, arguments) for arguments in calls]


def complaints(tool: str, arguments: Arguments) -> list[tuple[str, str]]:
    """What a server made for these tests finds wrong, by its own reading of the schema: kind of mistake and field."""
    described = (SHOWN | HIDDEN)[tool]
    found = [("absent", name) for name in described["required"] if name not in arguments]
    for name, value in arguments.items():
        kind = described["properties"].get(name, {}).get("type")
        if kind and type(value) is not type(RIGHT[kind]):
            found.append(("wrong", name))
    return found


def kind_of(tool: str, field: str) -> str:
    return (SHOWN | HIDDEN)[tool]["properties"][field]["type"]


def by_lines(tool: str, arguments: Arguments) -> str | None:
    words = {"string": "text", "integer": "number", "boolean": "yes or no", "array": "list"}
    extra = [name for name in arguments if name not in (SHOWN | HIDDEN)[tool]["properties"]]
    if extra:
        known = ", ".join(f"'{name}'" for name in (SHOWN | HIDDEN)[tool]["properties"])
        return f"{tool} failed: {extra[0]}: no such field; there are {known}"
    said = [
        f"{field}: required" if what == "absent" else f"{field}: expected {words[kind_of(tool, field)]}"
        for what, field in complaints(tool, arguments)
    ]
    return (
        None
        if not said
        else f"{tool} failed: {said[0]}"
        if len(said) == 1
        else f"{tool} failed:\n- " + "\n- ".join(said)
    )


def first_only(tool: str, arguments: Arguments) -> str | None:
    for what, field in complaints(tool, arguments):
        return f"Error: {field} is required" if what == "absent" else f"Error: {field} must be a {kind_of(tool, field)}"
    return None


def all_missing(tool: str, arguments: Arguments) -> str | None:
    found = complaints(tool, arguments)
    absent = [field for what, field in found if what == "absent"]
    given = json.dumps(arguments, indent=2)
    if absent:
        return f"Missing required parameters: {', '.join(absent)} (given: {given})"
    return f"Bad value for {found[0][1]} (given: {given})" if found else None


Server = Callable[[str, Arguments], str | None]


def learnt(server: Server, tools: dict[str, Any] = SHOWN) -> ErrorTexts:
    calls = [call for tool, described in tools.items() for call in bad_calls(tool, described)]
    refused = [
        RefusedCall(tool, given, said, "error") for tool, given in calls if (said := server(tool, given)) is not None
    ]
    return ErrorTexts.model_validate(refusal_texts(None, refused, SHOWN | HIDDEN))


def repeated(texts: ErrorTexts, tool: str, arguments: Arguments) -> str | None:
    found = texts.style().words.refusal(tool, argument_mistakes((SHOWN | HIDDEN)[tool], arguments))
    return None if found is None else found[0]


@pytest.mark.parametrize("server", [by_lines, first_only, all_missing])
def test_words_that_a_server_has_for_some_tools_are_found_for_a_tool_that_was_never_asked(server: Server) -> None:
    texts = learnt(server)
    other = {"string": 12, "integer": "many", "boolean": "perhaps", "array": "one"}
    calls = [(tool, given) for tool in HIDDEN for tool, given in bad_calls(tool, HIDDEN[tool], wrong=other)]
    expected = {json.dumps(given): said for tool, given in calls if (said := server(tool, given)) is not None}
    assert len(expected) > 6
    assert {
        json.dumps(given): repeated(texts, tool, given) for tool, given in calls if json.dumps(given) in expected
    } == expected


def test_what_one_tool_says_in_words_of_its_own_is_said_of_that_tool_alone() -> None:
    def server(tool: str, arguments: Arguments) -> str | None:
        return "The page wants a path." if tool == "list_pages" and not arguments else first_only(tool, arguments)

    texts = learnt(server)
    assert repeated(texts, "list_pages", {}) == "The page wants a path."
    assert repeated(texts, "read_page", {}) == "Error: path is required"


def test_a_text_that_names_another_parameter_is_not_said_of_tools_that_were_never_asked() -> None:
    texts = learnt(lambda tool, arguments: 'The "path" argument must be text' if complaints(tool, arguments) else None)
    assert repeated(texts, "find_page", {"folder": "x"}) == 'The "path" argument must be text'
    assert repeated(texts, "move_page", {"target": "x"}) is None


def test_a_refusal_about_the_value_of_another_argument_is_not_learnt() -> None:
    texts = learnt(lambda tool, given: "No such file: any old text" if "any old text" in given.values() else None)
    assert texts.sayings == []
