"""Everything that has a name, as rows: from files, and from the plug-in table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simtrain.contracts.perturbation import right_response
from simtrain.contracts.plugin import about
from simtrain.contracts.registry import known, resolve
from simtrain.contracts.scenario import PackSpec, PackUse, ScenarioSpec
from simtrain.files.yaml_files import read_document
from simtrain.plugins import PLUGINS
from simtrain.scenarios.find import names
from simtrain.scenarios.load import load_world
from simtrain.values.errors import InputError
from simtrain.values.extras import lacks_extra

if TYPE_CHECKING:
    from pydantic import BaseModel

    from simtrain.values.types import JsonObject

# The declarations of a plug-in besides its knobs.
_FACTS = {"perturbations": ("side", "effect", "layer", "recoverable_by"), "graders": ("gates",)}


def scenarios() -> list[JsonObject]:
    """Return every scenario by name. Raises InputError for an invalid file."""
    rows: list[JsonObject] = []
    for name, path in names("scenarios").items():
        spec = read_document(path).parse(ScenarioSpec)
        rows.append(
            {
                "name": name,
                "world": spec.world.use,
                "about": _first_line(spec.description or spec.prompt),
                "impossible": spec.impossible,
                "twin": spec.twin,
                "tools": spec.tools,
                "perturbations": [
                    use.pack if isinstance(use, PackUse) else use.label or use.use for use in spec.perturbations
                ],
                "graders": [use.label or use.use for use in spec.rubric.graders],
                "file": str(path),
            }
        )
    return rows


def world_files() -> list[JsonObject]:
    """Return every world by name, as its file says; nothing is built. Raises InputError for a file that is no YAML."""
    rows: list[JsonObject] = []
    for name, path in names("worlds").items():
        data = read_document(path).data
        about = _first_line(str(data.get("description", "")))
        rows.append({"name": name, "kind": data.get("kind"), "about": about, "file": str(path)})
    return rows


def worlds() -> list[JsonObject]:
    """Return every world by name, built, even those that need an extra. Raises InputError for an invalid file."""
    rows: list[JsonObject] = []
    for name, path in names("worlds").items():
        try:
            world = load_world(path).build()
        except InputError as error:
            # Only a missing extra is excused: any other error of a shipped or own world must be seen.
            if not lacks_extra(error):
                raise
            kind = read_document(path).data["kind"]
            about = f"needs an extra: {error.remedy}"
            unknown: JsonObject = {"tools": [], "tables": [], "digest": None}
            rows.append({"name": name, "kind": kind, "about": about, **unknown, "file": str(path)})
            continue
        rows.append(
            {
                "name": name,
                "kind": world.kind,
                "about": _first_line(world.describe()),
                "tools": [tool.name for tool in world.tools],
                "tables": sorted(world.columns()),
                "digest": world.digest,
                "file": str(path),
            }
        )
    return rows


def packs() -> list[JsonObject]:
    """Return every perturbation pack by name. Raises InputError for an invalid file."""
    rows: list[JsonObject] = []
    for name, path in names("perturbations").items():
        pack = read_document(path).parse(PackSpec)
        uses = [use.label or use.use for use in pack.perturbations]
        rows.append(
            {
                "name": name,
                "about": _first_line(pack.description),
                "severity": pack.severity,
                "perturbations": uses,
                "file": str(path),
            }
        )
    return rows


def plugins(kind: str) -> list[JsonObject]:
    """Return every plug-in of a kind, shipped or installed, with its knobs; one that cannot be imported says so."""
    rows: list[JsonObject] = []
    for name in known(kind):
        try:
            plugin: Any = resolve(kind, name)
        except InputError as error:
            # A broken package of somebody else must not hide the plug-ins that work.
            rows.append({"name": name, "about": f"BROKEN: {error}", "shipped": name in PLUGINS[kind], "knobs": []})
            continue
        row: JsonObject = {"name": name, "about": about(plugin), "shipped": name in PLUGINS[kind], "knobs": []}
        # Handlers and argument styles are functions; a kind of world has a whole file.
        if hasattr(plugin, "model_fields"):
            row |= {"knobs": _knobs(plugin), "example": plugin.example}
        if kind == "perturbations":
            row["right_response"] = right_response(plugin)
        declares = getattr(plugin, "traits", plugin)
        rows.append({**row, **{fact: getattr(declares, fact, None) for fact in _FACTS.get(kind, ())}})
    return rows


def _knobs(plugin: type[BaseModel]) -> list[JsonObject]:
    rows: list[JsonObject] = []
    for name, info in plugin.model_fields.items():
        row: JsonObject = {"name": info.alias or name, "about": info.description or "", "required": info.is_required()}
        if not info.is_required():
            default = info.get_default(call_default_factory=True, validated_data={})
            row["default"] = (
                default
                if default is None or isinstance(default, bool | int | float | str | list | dict)
                else str(default)
            )
        rows.append(row)
    return rows


def _first_line(text: str) -> str:
    return next(iter(text.strip().splitlines()), "")
