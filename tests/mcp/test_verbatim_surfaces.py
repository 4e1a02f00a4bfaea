"""What a stand-in shows and what the real server shows, read from both by a bare client and compared as JSON."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from raw_stdio import enveloped, initialize, replies
from shipped_surfaces import PACKAGES, WORLDS, commands

pytestmark = pytest.mark.full

LISTS = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")
TOOLS = {"memory": 9, "filesystem": 14, "sequential_thinking": 1, "git": 12, "fetch": 1, "time": 2, "sqlite": 6}
MODERN = ("git", "fetch", "time")
"""Those that speak 2026-07-28 too."""


def stand_in(world: str) -> list[str]:
    return [sys.executable, "-m", "simtrain", "serve", world, "--stdio"]


def shown(command: list[str]) -> dict[str, Any]:
    """Greeting and lists in the handshake era, as they came."""
    asked = [("initialize", initialize()), *((method, {}) for method in LISTS)]
    return dict(zip((method for method, _ in asked), replies(command, asked), strict=True))


def shown_modern(command: list[str]) -> dict[str, Any]:
    asked = [(method, enveloped({})) for method in ("server/discover", *LISTS)]
    return dict(zip((method for method, _ in asked), replies(command, asked, greeted=False), strict=True))


def equal_descriptors(real: dict[str, Any], own: dict[str, Any]) -> int:
    """How many tools both sides show alike, at the same place."""
    both = (side["tools/list"]["result"]["tools"] for side in (real, own))
    return sum(one == other for one, other in zip(*both, strict=True))


def test_every_descriptor_is_that_of_the_real_server(tmp_path: Path) -> None:
    assert sum(TOOLS.values()) == 45 and set(TOOLS) == set(PACKAGES)
    real = {world: shown(command) for world, command in commands(tmp_path).items()}
    own = {world: shown(stand_in(world)) for world in PACKAGES}
    assert {world: equal_descriptors(real[world], own[world]) for world in PACKAGES} == TOOLS
    # Greeting with server info and capabilities, resources, templates and prompts, and what is refused: all of it.
    assert own == real


@pytest.mark.parametrize("world", MODERN)
def test_so_it_is_in_the_era_without_a_handshake(world: str, tmp_path: Path) -> None:
    real, own = shown_modern(commands(tmp_path)[world]), shown_modern(stand_in(world))
    assert equal_descriptors(real, own) == TOOLS[world]
    assert own == real


@pytest.mark.parametrize(
    ("right", "wrong", "equal"),
    [
        ("Read the entire knowledge graph", "Read the whole knowledge graph", 8),
        ('"destructiveHint": true', '"destructiveHint": false', 6),
        ('"taskSupport": "forbidden"', '"taskSupport": "optional"', 0),
        ('"version": "', '"version": "v', 9),
    ],
)
def test_a_stand_in_that_shows_something_else_is_seen(right: str, wrong: str, equal: int, tmp_path: Path) -> None:
    manifest = (WORLDS / "memory.manifest.json").read_text()
    assert right in manifest
    (tmp_path / "memory.manifest.json").write_text(manifest.replace(right, wrong))
    (tmp_path / "memory.yaml").write_text((WORLDS / "memory.yaml").read_text())
    real, own = shown(commands(tmp_path)["memory"]), shown(stand_in(str(tmp_path / "memory.yaml")))
    assert equal_descriptors(real, own) == equal
    assert own != real
