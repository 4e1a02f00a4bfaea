"""A tiny world and scenario for tests: a bakery that sells cakes."""

from __future__ import annotations

from pathlib import Path

from simtrain.contracts.scenario import Scenario
from simtrain.contracts.world import Variant
from simtrain.files.yaml_files import parse_document
from simtrain.scenarios.load import load_scenario_file
from simtrain.testing.example_worlds import FOLDER
from simtrain.worlds.service.source import ServiceSource
from simtrain.worlds.service.world import ServiceWorld

WORLD = (FOLDER / "shop.yaml").read_text().partition("  - name: orders.place_many\n")[0].replace("[1, 3]", "[0, 3]")
"""The shop in which plug-ins are tried, without the tool that takes a list, and with cakes that nobody has ordered."""

_ORDERING = (FOLDER / "order_cakes.yaml").read_text()
SCENARIO = _ORDERING.replace("{", "{{").replace("}", "}}").replace("world: shop.yaml", "world: {world}") + "{more}"
"""A format string: the file of the world, and more keys."""


def world(text: str = WORLD, variant: Variant | None = None) -> ServiceWorld:
    """The bakery, or another world from its YAML text."""
    built = ServiceSource.load(parse_document(text, Path("bakery.yaml"))).build(variant or Variant())
    assert isinstance(built, ServiceWorld)
    return built


def write_files(folder: Path, *, more: str = "", world_text: str = WORLD) -> Path:
    """Write world and scenario into a folder; the scenario's file."""
    (folder / "bakery.yaml").write_text(world_text)
    file = folder / "birthday.yaml"
    file.write_text(SCENARIO.format(world="bakery.yaml", more=more))
    return file


def scenario(folder: Path, *, more: str = "", world_text: str = WORLD) -> Scenario:
    """The scenario `birthday`, with more YAML keys at its end."""
    return load_scenario_file(write_files(folder, more=more, world_text=world_text), "birthday")
