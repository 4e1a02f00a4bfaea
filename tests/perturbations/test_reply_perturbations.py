"""Perturbations of replies and of the list of tools, in a scenario: what the agent sees, and what happened behind its back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from bakery import scenario

from simtrain import open_episode
from simtrain.contracts.perturbation import Call
from simtrain.contracts.request import Request
from simtrain.mcp_wire.raw_replies import observation_of, reworded
from simtrain.perturbations.schema_drift import SchemaDrift
from simtrain.values.clock import Clock
from simtrain.values.seeding import Stream
from simtrain.values.types import Action, Observation, ToolSpec


async def play(folder: Path, perturbation: dict[str, Any], *calls: tuple[str, dict[str, Any]]) -> tuple[list[Any], Any]:
    found = scenario(folder, more=f"perturbations: [{json.dumps(perturbation)}]\n")
    async with open_episode(found) as environment:
        for number, (tool, arguments) in enumerate(calls):
            await environment.step(Action(str(number), tool, arguments))
        return list(environment.steps), environment


LIST = ("cakes.list", {})
PLACE = ("orders.place", {"cake_id": "K001", "amount": 1})


async def test_a_transient_error_leaves_no_trace_and_passes(tmp_path: Path) -> None:
    steps, environment = await play(
        tmp_path, {"use": "transient_error", "with": {"times": 2}}, PLACE, PLACE, LIST, PLACE
    )
    assert [step.observation.is_error for step in steps] == [True, True, True, False]
    assert "The request was not processed." in steps[0].observation.text
    # What it would have been is in the event.
    assert json.loads(steps[0].events[0].clean.text)["amount"] == 1
    assert environment.steps[3].observation.provenance.source == "embedded"


@pytest.mark.parametrize("status", [500, 502, 503])
async def test_the_status_can_be_chosen(status: int, tmp_path: Path) -> None:
    steps, _ = await play(tmp_path, {"use": "transient_error", "with": {"status": status}}, LIST)
    assert str(status) in steps[0].observation.text


async def test_truncated_structured_content_still_fits_its_schema(tmp_path: Path) -> None:
    steps, environment = await play(tmp_path, {"use": "truncated_output", "with": {"keep": 0.5, "marker": "~"}}, LIST)
    seen, clean = steps[0].observation, steps[0].events[0].clean
    assert seen.text == clean.text[: len(clean.text) // 2] + "~"
    assert len(seen.structured["cakes"]) == len(clean.content["cakes"]) // 2
    (tool,) = [tool for tool in environment.tools if tool.name == "cakes.list"]
    assert jsonschema_rs.is_valid(tool.output_schema, seen.structured)


async def test_an_error_arrives_whole(tmp_path: Path) -> None:
    call = ("cakes.get", {"name": "nothing of the kind"})
    for use, knobs in (("truncated_output", {"keep": 0.1}), ("schema_drift", {"rename": {"cake": "x"}})):
        steps, _ = await play(tmp_path, {"use": use, "with": knobs}, call)
        assert steps[0].observation.text == "No cake called nothing of the kind."


async def test_fields_drift_in_every_reply_and_in_the_output_schema(tmp_path: Path) -> None:
    steps, environment = await play(
        tmp_path, {"use": "schema_drift", "with": {"rename": {"stock": "left", "none": "x"}}}, LIST
    )
    first = steps[0].observation.content["cakes"][0]
    assert first.keys() == {"id", "name", "price", "left"}
    (tool,) = [tool for tool in environment.tools if tool.name == "cakes.list"]
    for content in (steps[0].observation.content, steps[0].events[0].clean.content):
        assert jsonschema_rs.is_valid(tool.output_schema, content)
    untouched = [tool for tool in environment.tools if tool.name == "orders.place"]
    assert untouched[0] in environment.world.tools


async def test_a_dropped_tool_is_unknown(tmp_path: Path) -> None:
    perturbation = {"use": "dropped_tool", "with": {"tools": ["orders.*", "cakes.get"]}}
    steps, environment = await play(tmp_path, perturbation, PLACE, LIST)
    assert [tool.name for tool in environment.tools] == ["cakes.list"]
    assert steps[0].observation.text == "Unknown tool: orders.place" and not steps[1].observation.is_error


def test_a_reworded_reply_keeps_what_else_it_said() -> None:
    image = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    reply = {
        "result": {"content": [{"type": "text", "text": "a"}, image], "structuredContent": {"x": 1}, "_meta": {"k": 1}},
        "asks": [],
    }
    seen = observation_of(reply)
    assert (seen.text, seen.structured, seen.is_error) == ("a\n[image/png]", {"x": 1}, False)
    said = reworded(seen, "b", None)
    assert said.wire == {"result": {"content": [{"type": "text", "text": "b"}, image], "_meta": {"k": 1}}, "asks": []}
    error = observation_of({"error": {"code": -32602, "message": "no", "data": 1}})
    assert error.is_error and reworded(error, "maybe", None).wire == {
        "error": {"code": -32602, "message": "maybe", "data": 1}
    }
    assert reworded(Observation("a"), "b", None) == Observation("b")


@pytest.mark.parametrize(
    "result", [{}, {"content": "text"}, {"content": [1, {"type": "text"}], "structuredContent": 3}, None, "x"]
)
def test_a_malformed_reply_is_still_an_observation(result: Any) -> None:
    assert observation_of({"result": result}).wire == {"result": result}


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain id", "plain id"),
        ('{"id":1,"list":[{"id":2}]}', '{"key":1,"list":[{"key":2}]}'),
        ('{\n "id": 1\n}', '{\n  "key": 1\n}'),
        ('{"other": 1}', '{"other": 1}'),
    ],
)
async def test_fields_drift_in_text_that_is_json(text: str, seen: str) -> None:
    async def proceed(request: Request) -> Observation:
        return Observation(text)

    request = Request(ToolSpec("t", "", {}), {}, 0, 0)
    call = Call(request=request, rng=Stream(0), clock=Clock(start=0, per_step=0), memory={}, world=None)
    assert await SchemaDrift(rename={"id": "key"}).apply(call, proceed) == Observation(seen)
