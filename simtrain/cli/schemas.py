"""JSON Schemas made from the models that read the files, with the knobs of every plug-in at hand."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from simtrain.values.types import JsonObject

DIALECT = "https://json-schema.org/draft/2020-12/schema"

# The definition that names a plug-in with `use` -> the kind of plug-in.
_USES = {"WorldModelUse": "world_models", "PerturbationUse": "perturbations", "GraderUse": "graders"}


def schema_of(kind: str) -> JsonObject:
    """Return the JSON Schema of a kind of file: scenario, world, pack, curriculum, recipe, trajectory (a line of a run), drill.json."""
    makers = {
        "scenario": _scenario,
        "world": _world,
        "pack": _pack,
        "curriculum": _curriculum,
        "recipe": _recipe,
        "trajectory": _trajectory,
        "drill": _drill,
    }
    return {"$schema": DIALECT, **makers[kind]()}


def schema_files(folder: Path, kinds: Iterable[str]) -> dict[Path, str]:
    """Return the files KIND.schema.json of a folder by path."""
    import orjson

    how = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    return {folder / f"{kind}.schema.json": orjson.dumps(schema_of(kind), option=how).decode() for kind in kinds}


def _scenario() -> JsonObject:
    from simtrain.contracts.registry import known
    from simtrain.contracts.scenario import ScenarioSpec

    schema = _with_plugins(ScenarioSpec.model_json_schema())
    for key, kind in (("paradigm", "paradigms"), ("domain", "domains")):
        schema["properties"][key]["enum"] = known(kind)
    return schema


def _pack() -> JsonObject:
    from simtrain.contracts.scenario import PackSpec

    return _with_plugins(PackSpec.model_json_schema())


def _curriculum() -> JsonObject:
    from simtrain.curricula.stages import CurriculumSpec

    return CurriculumSpec.model_json_schema()


def _recipe() -> JsonObject:
    from simtrain.integrations.train.recipe import Recipe

    return Recipe.model_json_schema()


def _drill() -> JsonObject:
    from simtrain.drills.shapes import DrillFacts

    return DrillFacts.model_json_schema(mode="serialization")


def _trajectory() -> JsonObject:
    from pydantic import TypeAdapter

    from simtrain.contracts.trajectory import Trajectory

    return TypeAdapter(Trajectory).json_schema()


def _world() -> JsonObject:
    """Return the schema of world files; their `kind` determines the other keys."""
    from simtrain.contracts.registry import known

    definitions: JsonObject = {}
    # `if` and `then` for each kind instead of anyOf: an editor then reports the error of the right kind alone.
    branches = [
        {"if": _where("kind", kind), "then": {"$ref": _knobs("worlds", kind, definitions)}} for kind in known("worlds")
    ]
    return {
        "title": "World",
        "type": "object",
        "properties": {"kind": {"enum": known("worlds")}},
        "required": ["kind"],
        "allOf": branches,
        "$defs": definitions,
    }


def _with_plugins(schema: JsonObject) -> JsonObject:
    """Return the schema with `use` narrowed to the known names, and `with` to the knobs of the named plug-in."""
    from simtrain.contracts.registry import known

    definitions: JsonObject = schema["$defs"]
    for definition, kind in _USES.items():
        entry = definitions.get(definition)
        if entry is None:
            continue
        entry["properties"]["use"]["enum"] = known(kind)
        entry["allOf"] = [_branch(kind, name, definitions) for name in known(kind)]
    return schema


def _branch(kind: str, name: str, definitions: JsonObject) -> JsonObject:
    reference = _knobs(kind, name, definitions)
    needed = bool(definitions[f"{kind}.{name}"].get("required"))
    then: JsonObject = {"properties": {"with": {"$ref": reference}}, **({"required": ["with"]} if needed else {})}
    return {"if": _where("use", name), "then": then}


def _where(key: str, value: str) -> JsonObject:
    return {"properties": {key: {"const": value}}, "required": [key]}


def _knobs(kind: str, name: str, definitions: JsonObject) -> str:
    """Add the schema of a plug-in's fields to the definitions and return the reference to it."""
    from pydantic import BaseModel
    from pydantic.errors import PydanticInvalidForJsonSchema

    from simtrain.contracts.registry import resolve

    own = f"{kind}.{name}"
    try:
        plugin = resolve(kind, name)
        plugin = cast(type[BaseModel], getattr(plugin, "file_model", plugin))
        # References carry the plug-in's name, since two plug-ins may define a type of the same name.
        schema = plugin.model_json_schema(ref_template=f"#/$defs/{own}.{{model}}")
    except (PydanticInvalidForJsonSchema, AttributeError):
        # Another package's plug-in with a knob that has no JSON Schema: accept anything.
        schema = cast("JsonObject", {"type": "object"})
    for inner, definition in cast("JsonObject", schema.pop("$defs", {})).items():
        definitions[f"{own}.{inner}"] = definition
    definitions[own] = schema
    return f"#/$defs/{own}"
