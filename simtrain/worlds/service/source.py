"""A parsed service world file, and the worlds built from it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from hashlib import blake2b
from typing import ClassVar

from simtrain.contracts.world import Variant, World
from simtrain.files.yaml_files import Document, Place
from simtrain.mcp_wire.manifest import read_manifest
from simtrain.values.types import JsonObject, canonical
from simtrain.worlds.service.spec import ServiceSpec, ToolSource
from simtrain.worlds.service.world import ServiceWorld


class ServiceSource:
    """A parsed and checked service world file. Worlds are built from it on demand."""

    kind = "service"
    file_model: ClassVar[type[ServiceSpec]] = ServiceSpec

    def __init__(self, document: Document, spec: ServiceSpec) -> None:
        self.document = document
        self.spec = spec
        self.name = spec.name
        self._built: dict[Variant, World] = {}
        names = [tool.name for tool in spec.tools]
        for index, name in enumerate(names):
            if name in names[:index]:
                raise document.error(("tools", index, "name"), f"the tool {name!r} appears twice", "rename one")

    @classmethod
    def load(cls, document: Document) -> ServiceSource:
        """Return the source of a world, checked as far as possible without building it. Raises InputError."""
        return cls(document, described(document, document.parse(ServiceSpec)))

    @cached_property
    def digest(self) -> str:
        """Digest of the file's content, and of the manifest's text for tools described there. Layout does not count."""
        data = self.document.data
        if any("description" not in tool for tool in data["tools"]):
            shown = [[tool.description, tool.descriptor, tool.input, tool.output] for tool in self.spec.tools]
            data = {**data, "tools": [data["tools"], shown]}
        return blake2b(canonical(data), digest_size=16).hexdigest()

    def configured(self, document: Document, knobs: JsonObject, place: Place) -> ServiceSource:
        """Raise an InputError: a service world has no knobs."""
        raise document.error(
            place, f"a service world has no knobs, such as {next(iter(knobs))!r}", f"write `world: {self.name}`"
        )

    def build(self, variant: Variant = Variant()) -> World:  # noqa: B008
        """Return the world in a variant, built once. Raises InputError with the place in the file."""
        if variant not in self._built:
            self._built[variant] = ServiceWorld(self.spec, self.document, self.digest, variant)
        return self._built[variant]


def described(document: Document, spec: ServiceSpec) -> ServiceSpec:
    """Return the spec, with tools that the file does not describe taken from the manifest. Raises InputError.

    Such a tool is shown as the captured server showed it; the file says only how it is answered.
    """
    if all(tool.description for tool in spec.tools):
        return spec
    captured = read_manifest(document.path.parent / spec.manifest).descriptors() if spec.manifest else {}
    return spec.model_copy(
        update={"tools": [_described(document, number, tool, captured) for number, tool in enumerate(spec.tools)]}
    )


def _described(
    document: Document, number: int, tool: ToolSource, captured: Mapping[tuple[str, str], JsonObject]
) -> ToolSource:
    if tool.description:
        return tool
    server, _, plain = tool.name.rpartition(".")
    shown = captured.get((server, plain))
    if shown is None:
        remedy = "write what it does" if not captured else "the manifest shows no tool of this name: write what it does"
        raise document.error(("tools", number), "the key 'description' is missing", remedy)
    for key in ("descriptor", "input", "output"):
        if getattr(tool, key):
            raise document.error(("tools", number, key), "a tool that the manifest describes has none here", "drop it")
    descriptor = {key: value for key, value in shown.items() if key not in _DESCRIBED}
    return tool.model_copy(
        update={
            "description": str(shown.get("description") or plain),
            "descriptor": descriptor,
            "input": {"type": "object", "properties": {}, **(shown.get("inputSchema") or {})},
            "output": shown.get("outputSchema"),
        }
    )


_DESCRIBED = frozenset({"name", "description", "inputSchema", "outputSchema"})
