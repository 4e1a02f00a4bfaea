"""Worlds whose tools a captured manifest describes, and what is refused of annotations that no client would take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simtrain.mcp.serve.targets import load_target
from simtrain.values.errors import InputError

WORLD = """\
kind: service
name: jars
manifest: jars.manifest.json
schema: create table jars (name text);
tools:
  - {name: find_jar, read: select name from jars where name = :name}
  - {name: count_jars, description: Our own., read: "select count(*) as n from jars"}
"""

FIND: dict[str, Any] = {
    "name": "find_jar",
    "title": "Find",
    "description": "Find a jar.",
    "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    "annotations": {"readOnlyHint": True, "title": "Find it", "shelf": 0},
}


def written(folder: Path, *tools: dict[str, Any], world: str = WORLD) -> str:
    surface = {
        "era": "2025-11-25",
        "capabilities": {},
        "greeting": {},
        "lists": {"tools/list": [{"tools": list(tools)}]},
    }
    manifest = {"format": "simtrain-manifest/1", "servers": {"jars": {"surfaces": [surface]}}}
    (folder / "jars.manifest.json").write_text(json.dumps(manifest))
    path = folder / "jars.yaml"
    path.write_text(world)
    return str(path)


def test_a_tool_without_a_description_is_the_captured_one(tmp_path: Path) -> None:
    (scenario,) = load_target(written(tmp_path, FIND))
    found, own = scenario.source.build().tools
    assert (found.description, found.input_schema) == ("Find a jar.", FIND["inputSchema"])
    assert scenario.source.build().descriptors["find_jar"] == {key: FIND[key] for key in ("title", "annotations")}
    assert own.description == "Our own."


def test_what_the_manifest_says_counts_for_the_digest(tmp_path: Path) -> None:
    (one,) = load_target(written(tmp_path, FIND))
    (other,) = load_target(written(tmp_path, {**FIND, "description": "Find it."}))
    (again,) = load_target(written(tmp_path, FIND))
    assert one.source.digest == again.source.digest != other.source.digest


@pytest.mark.parametrize(
    ("tools", "world", "problem"),
    [
        ([], WORLD, "jars.yaml:6: tools[0]: the key 'description' is missing"),
        ([FIND], WORLD.replace("manifest: jars.manifest.json\n", ""), "the key 'description' is missing; write what it does"),
        ([FIND], WORLD.replace("find_jar,", "find_jar, input: {name: string},"), "tools[0].input: a tool that the manifest describes"),
    ],
)  # fmt: skip
def test_a_tool_that_nobody_or_both_describe_is_refused(
    tools: list[dict[str, Any]], world: str, problem: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as refused:
        load_target(written(tmp_path, *tools, world=world))
    assert problem in str(refused.value)
    assert "\n" not in str(refused.value)


WRONG = [
    ({"annotations": {"readOnlyHint": 0}}, "the annotation 'readOnlyHint' is 0, neither true nor false"),
    ({"annotations": {"destructiveHint": "no"}}, "the annotation 'destructiveHint' is 'no', neither true nor false"),
    ({"annotations": {"idempotentHint": None}}, "the annotation 'idempotentHint' is None, neither true nor false"),
    ({"annotations": {"openWorldHint": 1}}, "the annotation 'openWorldHint' is 1, neither true nor false"),
    ({"annotations": {"title": 3}}, "the annotation 'title' is 3, not a text"),
    ({"annotations": []}, "the annotations are a list, not an object"),
    ({"title": 3}, "the title is 3, not a text"),
]


@pytest.mark.parametrize(("wrong", "problem"), WRONG)
def test_annotations_of_another_type_are_refused_in_a_world_and_in_a_manifest(
    wrong: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    world = WORLD.replace("Our own.,", f"Our own., descriptor: {json.dumps(wrong)},")
    with pytest.raises(InputError, match=r"jars\.yaml:7: tools\[1\]\.descriptor") as refused:
        load_target(written(tmp_path, FIND, world=world))
    assert problem in str(refused.value)
    written(tmp_path, {**FIND, **wrong})
    with pytest.raises(InputError, match=r"jars\.manifest\.json: servers\.jars\.surfaces\[0\]") as refused:
        load_target(str(tmp_path / "jars.manifest.json"))
    assert problem in str(refused.value)
    assert "(tool 'find_jar')" in str(refused.value)
